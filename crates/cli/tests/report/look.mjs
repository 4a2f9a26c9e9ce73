// Opens a page in headless Chromium and prints what is seen there as JSON.
//
// Needs node and chromium alone: it speaks the browser's protocol over a pipe.
//   node look.mjs PAGE [PICTURE [WIDTH [HEIGHT [light|dark]]]]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [page, picture, width = '1280', height = '900', scheme = 'light'] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'look-'));
const browser = spawn(process.env.CHROMIUM ?? 'chromium', [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
  '--remote-debugging-pipe', `--user-data-dir=${profile}`,
], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });

const waiting = new Map();
const heard = [];
let next = 1;
let rest = '';
browser.stdio[4].on('data', (bytes) => {
  const parts = (rest + bytes).split('\0');
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    const done = waiting.get(message.id);
    if (done) done(message);
    else heard.push(message);
  }
});
const ask = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
  const id = next++;
  waiting.set(id, ({ result, error }) => (error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result)));
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
});
const until = async (is, what) => {
  for (let tries = 0; tries < 1200; tries += 1) {
    if (heard.some(is)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`waited in vain for ${what}`);
};

// Runs in the page. Everything is tried as a reader would: by clicking and typing.
function look() {
  const seen = {};
  const timing = performance.getEntriesByType('navigation')[0];
  seen.load_ms = Math.round(timing.loadEventEnd || performance.now());
  const figures = [...document.querySelectorAll('figure')];
  seen.figures = figures.length;
  // A plot outside of the screen is not laid out before it is scrolled to.
  figures.forEach((figure) => figure.style.setProperty('content-visibility', 'visible'));
  // A plot may have one drawing for wide pages and one for narrow ones, of which one is shown.
  const shown = [...document.querySelectorAll('figure svg')].filter((plot) => plot.checkVisibility());
  seen.plots_shown = shown.length;
  seen.empty_plots = shown.filter((plot) => {
    const marks = plot.querySelectorAll('use, rect');
    return marks.length === 0 || [...marks].every((mark) => mark.getBoundingClientRect().width === 0);
  }).length;
  const [figure, table] = [document.querySelector('figure'), document.querySelector('table')];
  seen.picture_first = !table || Boolean(figure && figure.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING);
  seen.red_flags = document.querySelectorAll('.flags li').length;
  seen.unnamed_plots = document.querySelectorAll('figure svg:not([aria-label])').length;
  seen.rows_without_heading = [...document.querySelectorAll('tbody tr')].filter((row) => row.cells[0].scope !== 'row').length;
  seen.rows = document.querySelectorAll('tbody tr').length;
  seen.scripts = document.querySelectorAll('script').length;
  seen.images = document.querySelectorAll('img, iframe, object').length;
  seen.hostile_text = document.querySelector('main').textContent.includes('<script>alert(1)</script>');
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const named = [...document.querySelectorAll('thead th')].find((head) => head.textContent === 'time');
  if (named) {
    named.querySelector('button').click();
    const table = named.closest('table');
    const column = [...named.parentNode.cells].indexOf(named);
    const scale = { ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9 };
    const times = [...table.tBodies[0].rows].map((row) => {
      const [, number, unit] = /^([\d.]+) (\S+)/.exec(row.cells[column].textContent) ?? [];
      return number * scale[unit];
    }).filter((time) => !isNaN(time));
    seen.sorted = times.every((time, i) => i === 0 || times[i - 1] <= time) && named.ariaSort === 'ascending';
  }
  const input = document.querySelector('input[type=search]');
  if (input) {
    const rows = [...input.parentNode.nextElementSibling.querySelectorAll('tbody tr')];
    input.value = 'no row says this';
    input.dispatchEvent(new Event('input'));
    seen.filtered = rows.every((row) => row.hidden);
    input.value = '';
    input.dispatchEvent(new Event('input'));
    seen.restored = rows.every((row) => !row.hidden);
  }
  const plot = shown[0];
  if (plot) {
    plot.focus();
    plot.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
    seen.tip = document.getElementById('tip').textContent;
    plot.blur();
  }
  const number = document.querySelector('button[data-raw]');
  if (number) {
    number.click();
    seen.slices_drawn = document.querySelectorAll('#raw use').length;
    document.getElementById('raw').close();
  }
  return seen;
}

let code = 0;
try {
  const { targetId } = await ask('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await ask(`${domain}.enable`, {}, sessionId);
  const size = { width: Number(width), height: Number(height), deviceScaleFactor: 1, mobile: false };
  await ask('Emulation.setDeviceMetricsOverride', size, sessionId);
  await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] }, sessionId);
  await ask('Page.navigate', { url: `file://${page}` }, sessionId);
  await until((message) => message.method === 'Page.loadEventFired', 'the page to load');
  if (picture) {
    const { data } = await ask('Page.captureScreenshot', { format: 'png' }, sessionId);
    writeFileSync(picture, Buffer.from(data, 'base64'));
  }
  const { result, exceptionDetails } = await ask('Runtime.evaluate', { expression: `(${look})()`, returnByValue: true }, sessionId);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  const errors = heard.flatMap(({ method, params }) => {
    if (method === 'Runtime.exceptionThrown') return [params.exceptionDetails.exception?.description ?? params.exceptionDetails.text];
    if (method === 'Log.entryAdded' && params.entry.level === 'error') return [params.entry.text];
    if (method === 'Runtime.consoleAPICalled') return [`console.${params.type}`];
    if (method === 'Page.javascriptDialogOpening') return [`dialog: ${params.message}`];
    return [];
  });
  const requests = heard.filter(({ method }) => method === 'Network.requestWillBeSent').map(({ params }) => params.request.url);
  const outside = requests.filter((url) => !url.startsWith('file://'));
  process.stdout.write(`${JSON.stringify({ ...result.value, errors, outside })}\n`);
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  code = 1;
} finally {
  browser.kill('SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, 100));
  rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
process.exit(code);
