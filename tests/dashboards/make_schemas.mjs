// Makes JSON Schemas out of the types of @grafana/schema: node make_schemas.mjs FOLDER
// FOLDER is an npm project with @grafana/schema and ts-json-schema-generator. One file <name>.json per type.
import { readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const folder = process.argv[2];
const { createGenerator } = createRequire(join(folder, "package.json"))("ts-json-schema-generator");
const PANELS = ["bargauge", "heatmap", "stat", "statetimeline", "table", "text", "timeseries"];
const WITH_FIELDS = new Set(["heatmap", "statetimeline", "table", "timeseries"]);

const types = join(folder, "node_modules/@grafana/schema/dist");
const files = readdirSync(types, { recursive: true }).filter((name) => name.endsWith("types.gen.d.ts"));

function declaration(part) {
  const found = files.find((name) => name.includes(`raw/${part}/x/`));
  if (!found) throw new Error(`@grafana/schema has no types of ${part}`);
  return join(types, found);
}

function make(name, part, type) {
  const settings = { path: declaration(part), type, skipTypeCheck: true, additionalProperties: false };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(createGenerator(settings).createSchema(type)));
}

make("dashboard", "dashboard", "Dashboard");
make("row", "dashboard", "RowPanel");
make("panel", "dashboard", "Panel");
for (const panel of PANELS) {
  make(`${panel}.options`, `composable/${panel}/panelcfg`, "Options");
  if (WITH_FIELDS.has(panel)) make(`${panel}.custom`, `composable/${panel}/panelcfg`, "FieldConfig");
}
