/** The token in a field `Authorization` (RFC 6750, section 2.1); undefined if there is none of this kind. */
export const bearerIn = (authorization: string): string | undefined => /^bearer +(\S+)\s*$/i.exec(authorization)?.[1];
