import type { FastifyBaseLogger } from 'fastify';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** A request's log, made when it is first written to: hardly any request writes. */
export class RequestLog implements FastifyBaseLogger {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
  }

  get level(): string {
    return this.#log().level;
  }

  set level(level: string) {
    this.#log().level = level;
  }

  fatal(...told: unknown[]): void {
    this.#write('fatal', told);
  }

  error(...told: unknown[]): void {
    this.#write('error', told);
  }

  warn(...told: unknown[]): void {
    this.#write('warn', told);
  }

  info(...told: unknown[]): void {
    this.#write('info', told);
  }

  debug(...told: unknown[]): void {
    this.#write('debug', told);
  }

  trace(...told: unknown[]): void {
    this.#write('trace', told);
  }

  silent(...told: unknown[]): void {
    this.#write('silent', told);
  }

  child(...of: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#log().child(...of);
  }

  #log(): FastifyBaseLogger {
    return (this.#made ??= this.#make());
  }

  #write(level: Level, told: readonly unknown[]): void {
    const log = this.#log();
    Reflect.apply(log[level], log, told);
  }
}
