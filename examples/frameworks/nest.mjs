// Nest 12. With TypeScript's decorators: @Controller() class Hello { @Get() hello(@RateLimited() info) { ... } }
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit, RateLimited } from 'headgate/nest';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { nest: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

class Hello {
  hello(info) {
    return { left: info.decision.remaining };
  }
}
Controller()(Hello);
Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
RateLimited()(Hello.prototype, 'hello', 0);

class App {}
Module({ controllers: [Hello] })(App);

const app = await NestFactory.create(App, { logger: false });
app.useGlobalGuards(rateLimit({ limiter, rule: 'nest' }));
await app.listen(port, '127.0.0.1');
tell(app.getHttpServer());
