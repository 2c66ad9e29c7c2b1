/** The default theme of VitePress, with room for the tables of the reference. */

import theme from 'vitepress/theme';
import './style.css';

export default theme;
