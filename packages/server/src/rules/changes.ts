/**
 * Told when the database may have changed. `missed`: what was told before may not have been all, as the way to it was cut; so
 * read again whatever it says.
 */
export type Wake = (missed: boolean) => void;

/** Tells of changes as soon as the database can. A change may be told twice, or of something else; it is only a reason to look. */
export interface Changes {
  /** The function returned ends it. */
  watch(wake: Wake): () => void;
}
