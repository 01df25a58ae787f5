import { SettingError } from '../../config.js';
import type { SettingTable } from '../../settings/setting.js';
import type { Tree, Work } from '../command.js';
import { bashScript } from '../completion/bash.js';
import { fishScript } from '../completion/fish.js';
import { shapeOf, type Shape } from '../completion/shape.js';
import { shells, type Shell } from '../completion/shells.js';
import { zshScript } from '../completion/zsh.js';

const scripts: Readonly<Record<Shell, (shape: Shape) => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };

export const completionOf =
  (tree: Tree): Work<SettingTable> =>
  async ({ operands: [name] }) => {
    const shell = shells.find((one) => one === name);
    if (shell === undefined) throw new SettingError(`SHELL: expected one of ${shells.join(', ')}; got ${JSON.stringify(name)}`);
    process.stdout.write(scripts[shell](shapeOf(tree)));
  };
