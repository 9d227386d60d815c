// Run test_agentloop.py on CPython compiled to WebAssembly: no threads, no sockets, no processes.
//
//     node pyodide_tests.mjs NODE_MODULES FOLDER       FOLDER: a copy of the project
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(join(modules, "pyodide", "pyodide.mjs")));
const pyodide = await loadPyodide({ stdout: console.log, stderr: console.log });

const put = (from, to) => {
  pyodide.FS.mkdirTree(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory()) put(join(from, entry.name), `${to}/${entry.name}`);
    else pyodide.FS.writeFile(`${to}/${entry.name}`, readFileSync(join(from, entry.name)));
  }
};
put(folder, "/project");
const status = await pyodide.runPythonAsync(`
import os, runpy, sys
os.chdir("/project")
sys.path.insert(0, "/project")
sys.argv = ["test_agentloop.py"]
print(sys.version)
try:
    runpy.run_path("test_agentloop.py", run_name="__main__")
    status = 0
except SystemExit as e:
    status = e.code if isinstance(e.code, int) else int(bool(e.code))
status
`);
process.exit(status);
