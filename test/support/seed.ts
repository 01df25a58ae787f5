import fc from 'fast-check';

// The same random inputs in every run, so that a change is judged by the change; SEED=n explores others.
fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 20_261_130) });
