import { command, type Command, type Tree } from '../command.js';
import { shells } from '../completion/shells.js';

/** Made of the tree that it is part of. */
export const completion = (tree: () => Tree): Command =>
  command({
    path: 'completion',
    summary: 'print what a shell completes these commands by',
    operands: [{ name: 'SHELL', oneOf: shells }],
    settings: {},
    examples: [
      ['source <(headgate completion bash)', 'in ~/.bashrc'],
      ['source <(headgate completion zsh)', 'in ~/.zshrc, after compinit'],
      ['headgate completion fish > ~/.config/fish/completions/headgate.fish', 'once'],
    ],
    load: async () => (await import('../commands/completion.js')).completionOf(tree()),
  });
