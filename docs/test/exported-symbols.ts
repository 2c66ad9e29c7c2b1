/** Reads what packages export, and how it is documented, from the syntax of their sources. */

import { dirname, join } from 'node:path';

import ts from 'typescript';

import { textOf } from '../../test/repo/workspace.ts';

/** A declaration that a package exports. */
export interface Exported {
  /** The name that users import. */
  readonly name: string;
  /** The file that declares it, relative to the workspace. */
  readonly path: string;
  readonly node: ts.Statement;
}

/** Options of this kind need a unit: durations and sizes. */
const QUANTITY = /(?:Ms|Bytes|Seconds|Ttls|Ratio)$/;
const UNITS = /\b(?:ms|milliseconds|seconds|s|bytes|KiB|MiB|ttls?|ratio|part|times?|rate)\b/;

/** What makes an error with a code, of this project or of a programmer's mistake. */
const CODED = /^(?:\w+Error|invalid\w+|tooLarge|storeClosed|leaseGone|keyTaken)$/;

const files = new Map<string, ts.SourceFile>();

function sourceOf(path: string): ts.SourceFile {
  const source = files.get(path) ?? ts.createSourceFile(path, textOf(path), ts.ScriptTarget.Latest, true);
  files.set(path, source);
  return source;
}

/** What an entry point exports from the sources of its own package. */
export function exportsOf(path: string): readonly Exported[] {
  return sourceOf(path).statements.flatMap((statement): readonly Exported[] => {
    if (!ts.isExportDeclaration(statement)) return declaredBy(statement).map((name) => ({ name, path, node: statement }));
    const from = statement.moduleSpecifier;
    if (from === undefined || !ts.isStringLiteral(from) || !from.text.startsWith('.')) return [];
    const all = exportsOf(join(dirname(path), from.text));
    if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause)) return all;
    return statement.exportClause.elements.flatMap(({ name, propertyName }) =>
      all.filter((each) => each.name === (propertyName ?? name).text).map((each) => ({ ...each, name: name.text })),
    );
  });
}

/** The exported names that a statement declares. */
function declaredBy(statement: ts.Statement): readonly string[] {
  if (!ts.canHaveModifiers(statement) || !isExported(statement)) return [];
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}

function isExported(node: ts.HasModifiers): boolean {
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

/** The doc comments directly above a declaration. Empty if there are none. */
export function docOf(node: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(node)
    .map((doc) => doc.getText())
    .join('\n');
}

/**
 * The functions and methods of a declaration that construct and throw an error with a code
 * themselves, and do not say so. Errors of the functions that they call are not found.
 */
export function silentThrowers({ node }: Exported): readonly string[] {
  const functions = ts.isClassDeclaration(node) ? node.members.filter(isPublicFunction) : [node];
  return functions
    .filter((each) => throwsCoded(each) && !docOf(each).includes('@throws') && !docOf(each).includes('@internal'))
    .map(nameOf);
}

function isPublicFunction(member: ts.ClassElement): boolean {
  if (!ts.isMethodDeclaration(member) && !ts.isConstructorDeclaration(member)) return false;
  return member.name === undefined || !ts.isPrivateIdentifier(member.name);
}

function nameOf(node: ts.Node): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const isNamed = ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node);
  return isNamed && node.name !== undefined ? node.name.getText() : '';
}

function throwsCoded(node: ts.Node): boolean {
  if (ts.isThrowStatement(node) && isCoded(node.expression)) return true;
  let found = false;
  ts.forEachChild(node, (child) => {
    const isOther = ts.isFunctionLike(child) && child !== node;
    if (!isOther) found ||= throwsCoded(child);
  });
  return found;
}

function isCoded(error: ts.Expression): boolean {
  const isMade = ts.isNewExpression(error) || ts.isCallExpression(error);
  return isMade && CODED.test(error.expression.getText());
}

/**
 * The numbers among options whose doc comment lacks the unit, or the default of an optional one.
 */
export function vagueNumbers({ name, node }: Exported): readonly string[] {
  if (!ts.isInterfaceDeclaration(node) || !name.endsWith('Options')) return [];
  return node.members.filter(ts.isPropertySignature).flatMap((member) => {
    const property = member.name.getText();
    if (!QUANTITY.test(property) || member.type?.getText() !== 'number') return [];
    const doc = docOf(member);
    const lacks = [
      ...(UNITS.test(doc) ? [] : ['its unit']),
      ...(member.questionToken === undefined || /default/i.test(doc) ? [] : ['its default']),
    ];
    return lacks.length === 0 ? [] : [`${property} lacks ${lacks.join(' and ')}`];
  });
}
