/** Becomes another command, so that whoever started this script has started that. Its arguments: the command, with its path. */

const [file = '', ...args] = process.argv.slice(2);
const { execve } = process;
if (execve === undefined) throw new Error('this Node cannot become another command');
execve(file, [file, ...args], process.env);
