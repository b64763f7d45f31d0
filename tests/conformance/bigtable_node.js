// A walk through the Bigtable API with the official client: every call an
// application makes, and what it must see. Run by bigtable_node.sh.
'use strict';
const assert = require('assert');
const {Bigtable} = require('@google-cloud/bigtable');

// There is no service of Google's to send measurements to; the client would look
// for credentials and, on a slow machine, give up the process for want of them.
const bigtable = new Bigtable({projectId: 'walk', metricsEnabled: false});
const instance = bigtable.instance('node-walk');
const steps = [];
const step = (name, run) => steps.push([name, run]);
let table;

async function code(promise) {
  try {
    await promise;
  } catch (e) {
    return e.code !== undefined ? e.code : (e.errors && e.errors[0].code);
  }
  return 0;
}

const INVALID = 3, NOT_FOUND = 5, EXISTS = 6;

step('an instance is created, described, updated and listed', async () => {
  const [, operation] = await instance.create({
    clusters: [{id: 'node-walk-c1', location: 'us-central1-c', nodes: 3}],
    labels: {who: 'node'}, displayName: 'Walk'});
  await operation.promise();
  const [metadata] = await instance.getMetadata();
  assert.strictEqual(metadata.displayName, 'Walk');
  assert.strictEqual(metadata.labels.who, 'node');
  const [operation2] = await instance.setMetadata({displayName: 'Walked'});
  await operation2.promise();
  assert.strictEqual((await instance.getMetadata())[0].displayName, 'Walked');
  const [all] = await bigtable.getInstances();
  assert(all.some(i => i.id === 'node-walk' || i.id.endsWith('/node-walk')));
  const [clusters] = await instance.getClusters();
  assert.strictEqual(clusters.length, 1);
});

step('an app profile is created and deleted', async () => {
  await instance.createAppProfile('batch', {routing: 'any',
                                            description: 'for batches'});
  const [profile] = await instance.appProfile('batch').getMetadata();
  assert.strictEqual(profile.description, 'for batches');
  await instance.appProfile('batch').delete({ignoreWarnings: true});
});

step('a table is created with families, rules and splits', async () => {
  [table] = await instance.createTable('walk', {
    families: [{name: 'cf', rule: {versions: 3}},
               {name: 'old', rule: {age: {seconds: 3600, nanos: 0}, versions: 2,
                                    union: true}}],
    splits: [Buffer.from('g'), Buffer.from('n')]});
  assert.strictEqual(await code(instance.createTable('walk')), EXISTS);
  const [families] = await table.getFamilies();
  assert.deepStrictEqual(families.map(f => f.id).sort(), ['cf', 'old']);
  const old = families.find(f => f.id === 'old');
  assert(old.metadata.gcRule.union);
  const [tables] = await instance.getTables();
  assert.strictEqual(tables.length, 1);
  assert.strictEqual((await table.exists())[0], true);
  assert.strictEqual((await instance.table('none').exists())[0], false);
});

step('families are added, changed and dropped', async () => {
  await table.createFamily('extra', {rule: {versions: 1}});
  await table.family('extra').setMetadata({rule: {versions: 7}});
  const [metadata] = await table.family('extra').getMetadata();
  assert.strictEqual(metadata.gcRule.maxNumVersions, 7);
  await table.family('extra').delete();
  assert.strictEqual((await table.getFamilies())[0].length, 2);
});

step('splits show up as samples', async () => {
  const [samples] = await table.sampleRowKeys();
  const keys = samples.map(s => s.key.toString());
  assert(keys.includes('g') && keys.includes('n'));
  assert.strictEqual(keys[keys.length - 1], '');
});

step('rows are written in bulk and read back in order', async () => {
  const rows = [];
  for (let i = 0; i < 2000; i++)
    rows.push({key: 'row' + String(i).padStart(5, '0'),
               data: {cf: {n: {value: String(i), timestamp: 1000 * (i + 1)},
                           text: {value: 'x'.repeat(i % 300),
                                  timestamp: 5000}}}});
  await table.insert(rows);
  const [read] = await table.getRows();
  assert.strictEqual(read.length, 2000);
  read.forEach((row, i) => {
    assert.strictEqual(row.id, rows[i].key);
    assert.strictEqual(row.data.cf.n[0].value, String(i));
  });
});

step('ranges, prefixes, keys, limits', async () => {
  const keys = async options =>
    (await table.getRows(options))[0].map(r => r.id);
  assert.deepStrictEqual(await keys({start: 'row00010', end: 'row00012'}),
                         ['row00010', 'row00011', 'row00012']);
  assert.deepStrictEqual(
      await keys({ranges: [{start: {value: 'row00010', inclusive: false},
                            end: {value: 'row00012', inclusive: false}}]}),
      ['row00011']);
  assert.strictEqual((await keys({prefix: 'row0001'})).length, 10);
  assert.deepStrictEqual(await keys({keys: ['row00007', 'row00003', 'none']}),
                         ['row00003', 'row00007']);
  assert.strictEqual((await keys({limit: 17})).length, 17);
});

step('filters', async () => {
  const get = async filter =>
    (await table.getRows({filter, prefix: 'row0000'}))[0];
  assert.strictEqual((await get([{row: /row0000[2-4]/}])).length, 3);
  assert.strictEqual((await get([{column: /n/}]))[5].data.cf.text, undefined);
  assert.strictEqual((await get([{value: '7'}])).length, 1);
  assert.strictEqual((await get([{value: {start: '3', end: '5'}}])).length, 3);
  assert.strictEqual((await get([{time: {start: new Date(2), end: new Date(4)}}])).length, 2);
  assert.strictEqual((await get([{family: /nothing/}])).length, 0);
  const stripped = await get([{column: 'n'}, {value: {strip: true}}]);
  assert.strictEqual(stripped[3].data.cf.n[0].value, '');
  const both = await get([{interleave: [[{column: 'n'}], [{column: 'n'},
                                        {label: 'second'}]]}]);
  assert.strictEqual(both[1].data.cf.n.length, 2);
  assert(both[1].data.cf.n.some(c => c.labels.includes('second')));
  const condition = await get([{condition: {
    test: [{value: '4'}], pass: [{column: 'n'}], fail: [{all: false}]}}]);
  assert.deepStrictEqual(condition.map(r => r.id), ['row00004']);
  const sunk = await get([{interleave: [[{column: 'n'}, {sink: true}],
                                        [{all: false}]]}]);
  assert.strictEqual(sunk.length, 10);
});

step('one row: set, get, delete a cell, delete', async () => {
  const row = table.row('single');
  await row.save({cf: {a: 'one', b: Buffer.from([0, 255, 128])}});
  const [got] = await row.get({decode: false});
  assert.strictEqual(got.data.cf.a[0].value.toString(), 'one');
  assert.deepStrictEqual([...got.data.cf.b[0].value], [0, 255, 128]);
  await row.deleteCells(['cf:a']);
  const [left] = await row.get();
  assert.strictEqual(left.data.cf.a, undefined);
  assert.strictEqual((await row.exists())[0], true);
  await row.delete();
  assert.strictEqual((await row.exists())[0], false);
});

step('versions are kept as the rule says', async () => {
  const row = table.row('versions');
  for (let i = 1; i <= 5; i++)
    await row.save({cf: {v: {value: 'v' + i, timestamp: 1000 * i}}});
  const [got] = await row.get();
  assert.deepStrictEqual(got.data.cf.v.map(c => c.value), ['v5', 'v4', 'v3']);
});

step('check and mutate', async () => {
  const row = table.row('checked');
  await row.save({cf: {state: 'open'}});
  const config = {
    onMatch: [{method: 'insert', data: {cf: {state: 'closed'}}}],
    onNoMatch: [{method: 'insert', data: {cf: {other: 'x'}}}]};
  const filter = [{column: 'state'}, {column: {cellLimit: 1}},
                  {value: 'open'}];
  assert.strictEqual((await row.filter(filter, config))[0], true);
  assert.strictEqual((await row.filter(filter, config))[0], false);
  const [got] = await row.get();
  assert.strictEqual(got.data.cf.state[0].value, 'closed');
  assert.strictEqual(got.data.cf.other[0].value, 'x');
});

step('read, modify, write', async () => {
  const row = table.row('counted');
  assert.strictEqual((await row.increment('cf:n', 5))[0], 5);
  assert.strictEqual((await row.increment('cf:n', -7))[0], -2);
  await row.createRules([{column: 'cf:t', append: 'ab'}]);
  await row.createRules([{column: 'cf:t', append: 'cd'}]);
  assert.strictEqual((await row.get())[0].data.cf.t[0].value, 'abcd');
  await table.row('counted').save({cf: {short: 'xyz'}});
  assert.strictEqual(await code(row.increment('cf:short')), INVALID);
});

step('a stream that stops early', async () => {
  for (let i = 0; i < 20; i++) {
    let seen = 0;
    await new Promise((resolve, reject) => {
      const stream = table.createReadStream();
      stream.on('data', () => {
        if (++seen === 3)
          stream.end();
      }).on('error', reject).on('end', resolve).on('close', resolve);
    });
    assert(seen >= 3);
  }
});

step('many calls at once', async () => {
  const calls = [];
  for (let i = 0; i < 300; i++) {
    calls.push(table.row('many' + i).save({cf: {x: String(i)}}));
    calls.push(table.getRows({prefix: 'row000'}));
  }
  const done = await Promise.all(calls);
  assert(done.every((r, i) => i % 2 === 0 || r[0].length === 100));
});

step('a large value', async () => {
  const value = Buffer.alloc(20 << 20, 'large');
  await table.row('large').save({cf: {x: value}});
  const [got] = await table.row('large').get({decode: false});
  assert(got.data.cf.x[0].value.equals(value));
});

step('mistakes have their codes', async () => {
  const none = instance.table('none');
  assert.strictEqual(await code(none.getRows()), NOT_FOUND);
  assert.strictEqual(await code(none.delete()), NOT_FOUND);
  assert.strictEqual(await code(table.mutate(
      {key: 'r', method: 'insert', data: {none: {x: 'y'}}})), NOT_FOUND);
  assert.strictEqual(await code(table.row('r').save(
      {cf: {x: {value: 'y', timestamp: 1234}}})), INVALID);
  assert.strictEqual(await code(table.getRows(
      {filter: [{row: {cellLimit: -1}}]})), INVALID);
  assert.strictEqual(await code(table.getRows(
      {filter: [{column: {name: '('}}]})), INVALID);
});

step('rows are dropped by prefix, then all', async () => {
  await table.deleteRows('row0000');
  assert.strictEqual((await table.getRows({prefix: 'row0000'}))[0].length, 0);
  assert.strictEqual((await table.getRows({prefix: 'row0001'}))[0].length, 10);
  await table.truncate();
  assert.strictEqual((await table.getRows())[0].length, 0);
});

step('consistency, policies, ping', async () => {
  const [token] = await table.generateConsistencyToken();
  assert.strictEqual((await table.checkConsistency(token))[0], true);
  const [permissions] = await table.testIamPermissions(
      ['bigtable.tables.get']);
  assert.deepStrictEqual(permissions, ['bigtable.tables.get']);
  const [policy] = await table.setIamPolicy(
      {bindings: [{role: 'roles/bigtable.viewer', members: ['user:a@b.c']}]});
  assert.strictEqual(policy.bindings.length, 1);
  assert.strictEqual((await table.getIamPolicy())[0].bindings.length, 1);
});

step('the table and the instance are deleted', async () => {
  await table.delete();
  assert.strictEqual((await table.exists())[0], false);
  await instance.delete();
  assert.strictEqual((await instance.exists())[0], false);
});

async function main() {
  let failed = 0;
  for (const [name, run] of steps) {
    try {
      await run();
      console.log(`ok    ${name}`);
    } catch (e) {
      failed++;
      console.log(`FAIL  ${name}: ${e.stack || e}`);
      if (!table)
        break; // Nothing behind it makes sense.
    }
  }
  console.log(`${steps.length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

main();
