// Runs checks one after another and prints one line for each, as python/checks.py does.
'use strict';

const path = require('node:path');

const LIMIT_MS = 60_000;
class Skip extends Error {}

async function runOne({ name, run }, file) {
  let timer;
  const overdue = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    await Promise.race([run(), overdue]);
    console.log(`ok ${name}`);
  } catch (error) {
    if (process.env.CLIENTS_TRACE) console.error(error);
    const text = String(error.message ?? error).replace(/\s+/g, ' ').slice(0, 300);
    const where = new RegExp(`${file}:(\\d+)`).exec(error.stack ?? '');
    console.log(error instanceof Skip
      ? `skip ${name}: ${text}` : `FAIL ${name}: line ${where ? where[1] : '?'}: ${text}`);
  } finally {
    clearTimeout(timer);
  }
}

// What is named on the command line, or all.
async function main(version, checks) {
  console.log(`version ${version}`);
  const wanted = process.argv.slice(2);
  for (const one of checks) {
    if (wanted.length === 0 || wanted.includes(one.name)) {
      await runOne(one, path.basename(process.argv[1]));
    }
  }
  process.exit(0);
}

module.exports = { Skip, main };
