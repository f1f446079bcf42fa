// Validates the fixtures of the control protocol with a validator that svit does not use.
//
//   node check.mjs schema/control/v1
//
// The schema must be one of draft 2020-12 in Ajv's strict mode. Every valid frame must pass it, every invalid one must
// not, except those that are marked as beyond any schema: those must pass, or the mark is wrong.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'

const folder = process.argv[2]
const json = (...names) => JSON.parse(fs.readFileSync(path.join(folder, ...names), 'utf8'))

const ajv = new Ajv2020({ strict: true, allErrors: true })
ajv.addSchema(json('schema.json'), 'control')
const validators = {
  request: ajv.compile({ $ref: 'control#/$defs/request' }),
  response: ajv.compile({ $ref: 'control#/$defs/response' })
}
const anyFrame = ajv.getSchema('control')

// Whether a frame passes. A text that is no JSON does not.
function passes (kind, fixture, field) {
  let frame = fixture[field]
  if (fixture.text !== undefined) {
    try {
      frame = JSON.parse(fixture.text)
    } catch {
      return false
    }
  }
  const passed = validators[kind](frame)
  if (passed) assert(anyFrame(frame), 'a request or a response is a frame')
  return passed
}

function each (name, check) {
  const files = fs.readdirSync(path.join(folder, 'conformance', name)).sort()
  for (const file of files) check(json('conformance', name, file), `${name}/${file}`)
  return files.length
}

const valid = each('valid', (fixture, name) => {
  assert(passes(fixture.kind, fixture, 'frame'), name)
})
const invalid = each('invalid', (fixture, name) => {
  assert.equal(passes(fixture.kind, fixture, 'frame'), fixture.beyond_schema === true, name)
})
let requests = 0
each('behaviour', (fixture, name) => {
  for (const [index, step] of fixture.steps.entries()) {
    const sent = step.request !== undefined || step.text !== undefined ? [step] : []
    sent.push(...(step.together ?? []).map(request => ({ request })))
    for (const one of sent) {
      assert.equal(passes('request', one, 'request'), step.error === undefined, `${name}, step ${index}`)
      requests += 1
    }
  }
})
console.log(`the schema tells ${valid} valid frames from ${invalid} invalid ones, and knows ${requests} requests`)
