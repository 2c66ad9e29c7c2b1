/**
 * Becomes another command, which keeps the id of this process. Its arguments: the command, with its
 * path.
 */

const [file = '', ...args] = process.argv.slice(2);
const { execve } = process;
if (execve === undefined) throw new Error('this Node cannot become another command');
execve(file, [file, ...args], process.env);
