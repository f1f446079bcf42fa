// Checks svit's CAR files with libraries that svit does not use.
//
//   node check.mjs FILE.car FILE.json OUT.car
//
// FILE.car was written by svit, and FILE.json is the same value as JSON. Every block must have its
// digest, be canonical for the IPLD project's own DAG-CBOR, and all of them together must be the
// value. Then the same blocks are written by the IPLD project's own writer, for svit to read.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CarReader, CarWriter } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import { blake3 } from '@noble/hashes/blake3.js'
import { CID } from 'multiformats/cid'

const RAW = 0x55
const BLAKE3 = 0x1e
const [carFile, jsonFile, outFile] = process.argv.slice(2)

// A Buffer and a Uint8Array of the same octets are not deepEqual.
function sameBytes (actual, expected, what) {
  assert.equal(Buffer.compare(actual, expected), 0, what)
}

const reader = await CarReader.fromBytes(fs.readFileSync(carFile))
const [root, ...moreRoots] = await reader.getRoots()
assert.equal(moreRoots.length, 0, 'one root')

const blocks = new Map()
for await (const { cid, bytes } of reader.blocks()) {
  assert.equal(cid.code, dagCbor.code)
  assert.equal(cid.multihash.code, BLAKE3)
  sameBytes(cid.multihash.digest, blake3(bytes), `digest of ${cid}`)
  const node = dagCbor.decode(bytes)
  sameBytes(dagCbor.encode(node), bytes, `canonical form of ${cid}`)
  assert.ok(!blocks.has(cid.toString()), 'each block once')
  blocks.set(cid.toString(), { cid, bytes, node })
}

const used = new Set()
function load (cid) {
  const block = blocks.get(cid.toString())
  assert.ok(block, `missing ${cid}`)
  used.add(cid.toString())
  return block.node
}

function marker (node) {
  const cid = Array.isArray(node) ? CID.asCID(node[0]) : null
  return cid?.code === RAW ? new TextDecoder().decode(cid.multihash.digest) : null
}

// The entries or elements of a long container, from its index node down.
function gather (node, name) {
  if (marker(node) !== name) return name === 'svit-map' ? Object.entries(node) : node
  const [, , children] = node
  return children.flatMap((child) => {
    const [first, link] = name === 'svit-map' ? child : [null, child]
    const below = gather(load(link), name)
    if (first !== null) {
      const keys = below.map(([key]) => Buffer.from(key)).sort(Buffer.compare)
      assert.equal(keys[0].toString(), first, 'an index names the first key below')
    }
    return below
  })
}

// The value as svit's lossless JSON has it.
function value (node) {
  const link = CID.asCID(node)
  if (link) return value(load(link))
  if (node instanceof Uint8Array) {
    return { '/': { bytes: Buffer.from(node).toString('base64').replace(/=+$/, '') } }
  }
  const name = marker(node)
  if (name === 'svit-list' || (name === null && Array.isArray(node))) {
    return gather(node, 'svit-list').map(value)
  }
  if (name === 'svit-map' || (node !== null && typeof node === 'object')) {
    return Object.fromEntries(gather(node, 'svit-map').map(([key, child]) => [key, value(child)]))
  }
  return typeof node === 'bigint' ? node.toString() : node
}

// JSON.parse rounds large integers, so those are compared as text.
const text = fs.readFileSync(jsonFile, 'utf8').replace(/([[,:])(-?\d{16,})(?=[,\]}])/g, '$1"$2"')
assert.deepEqual(value(load(root)), JSON.parse(text))
assert.equal(used.size, blocks.size, 'no block is unused')

const { writer, out } = CarWriter.create([root])
const written = pipeline(Readable.from(out), fs.createWriteStream(outFile))
for (const { cid, node } of blocks.values()) {
  await writer.put({ cid, bytes: dagCbor.encode(node) })
}
await writer.close()
await written
console.log(`${blocks.size} blocks read, checked and written again`)
