/** Colours that are legible on light and dark pages: the picture has its own background. */

const FONT_PX = 11;

/** Terms take turns with this many colours. */
export const TERM_COLOURS = 5;

const light = {
  ground: '#ffffff',
  ink: '#1f2328',
  faint: '#656d76',
  line: '#d8dee4',
  calm: '#eaf6ec',
  fault: '#9a6700',
  faultGround: '#fff1c2',
  refused: '#cf222e',
  terms: ['#0969da', '#1a7f37', '#8250df', '#bc4c00', '#0a7d91'],
};

const dark = {
  ground: '#0d1117',
  ink: '#e6edf3',
  faint: '#9198a1',
  line: '#2f353d',
  calm: '#12261b',
  fault: '#e3b341',
  faultGround: '#3a2d0c',
  refused: '#ff7b72',
  terms: ['#2f81f7', '#2ea043', '#a371f7', '#db6d28', '#1b9aaa'],
};

function rules({ ground, ink, faint, line, calm, fault, faultGround, refused, terms }: typeof light): string {
  return [
    `.ground{fill:${ground}}.calm{fill:${calm}}.line{stroke:${line}}`,
    `.ink,.name,.title{fill:${ink}}.faint,.reason{fill:${faint}}`,
    `.fault{fill:${faultGround};stroke:${fault}}.hit{fill:${fault}}`,
    `.refused{stroke:${refused}}.guard{fill:${ground};stroke:${refused}}`,
    `.passes{stroke:${faint}}`,
    ...terms.map((colour, index) => `.t${index}{fill:${colour}}`),
  ].join('');
}

export const STYLE: string = [
  `text{font:${FONT_PX}px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}`,
  '.title{font-size:14px;font-weight:600}.name{font-weight:600}.term{fill:#fff;font-weight:600}.hit,.reason{font-size:10px}',
  '.line,.fault{stroke-width:1}.refused,.guard{stroke-width:1.6;fill:none}.passes{stroke-width:1;stroke-dasharray:2 3;fill:none}',
  rules(light),
  `@media (prefers-color-scheme:dark){${rules(dark)}}`,
].join('');
