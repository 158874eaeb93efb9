// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The Python side of bridge_recipe.cpp. Arguments: the file, a function or
// nothing, the GPU that it is for ("h100-sxm"). Descriptor 3
// takes the answer: a word (config, missing, choose, failed), a line break, its text and a NUL.
// Descriptor 4 ends with the process that started this one.
#include "application/exchange/bridge_recipe.hpp"

namespace pleat {

std::string_view recipe_script() {
  return R"py(
import ast, dataclasses, enum, importlib.util, inspect, json, math, os, runpy, signal, sys
import threading, traceback

path, wanted, gpu = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.argv = [path]
kName = "pleat_recipe"

def end_with_parent():
    while os.read(4, 1):
        pass
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_parent, daemon=True).start()

def answer(word, text):
    with open(3, "w", encoding="utf-8", closefd=False) as out:
        out.write(word + "\n" + text.replace("\0", "") + "\0")
    sys.stdout.flush()
    os._exit(0)

def place(error):
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return " (line %d)" % lines[-1] if lines else ""

def fail(error):
    text = " ".join(str(error).split())
    answer("failed", type(error).__name__ + (": " + text if text else "") + place(error))

try:
    with open(path, "rb") as source:
        tree = ast.parse(source.read(), path)
except SyntaxError as error:
    answer("failed", "SyntaxError: %s (line %s)" % (error.msg, error.lineno))

def needs_arguments(node):
    a = node.args
    return len(a.posonlyargs) + len(a.args) > len(a.defaults) or None in a.kw_defaults

functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
said = [n for n in functions if n.returns and "ConfigContainer" in ast.unparse(n.returns)]
recipes = [n.name for n in said or functions if n.name != "main" and not needs_arguments(n)]

try:
    found = importlib.util.find_spec("megatron.bridge") is not None
except ImportError:
    found = False
if not found:
    answer("missing", "\n".join([wanted] if wanted else recipes))
if not wanted and len(recipes) > 1:
    answer("choose", "\n".join(recipes))

def plain(v, depth=0):
    if v is None or isinstance(v, (bool, int, str)):
        return v if not isinstance(v, enum.Enum) else v.name
    if isinstance(v, float):
        return v if math.isfinite(v) else None
    if isinstance(v, enum.Enum):
        return v.name
    if depth > 40:
        return None
    if isinstance(v, dict):
        return {str(k): plain(x, depth + 1) for k, x in v.items()}
    if isinstance(v, (list, tuple, set, frozenset)):
        return [plain(x, depth + 1) for x in v]
    if dataclasses.is_dataclass(v) and not isinstance(v, type):
        out = {"_target_": "%s.%s" % (type(v).__module__, type(v).__qualname__)}
        for f in dataclasses.fields(v):
            if not f.name.startswith("_") and hasattr(v, f.name):
                out[f.name] = plain(getattr(v, f.name), depth + 1)
        return out
    if hasattr(v, "to_cfg_dict"):
        return plain(v.to_cfg_dict(), depth + 1)
    if callable(v) and hasattr(v, "__qualname__"):
        return {"_target_": "%s.%s" % (v.__module__, v.__qualname__), "_call_": False}
    if type(v).__module__ == "torch" and type(v).__name__ == "dtype":
        return {"_target_": str(v), "_call_": False}
    return str(v)

def is_config(v):
    return hasattr(v, "model") and hasattr(v, "train") and not isinstance(v, type)

# Recipes ask for the GPU they run on; where there is none it is the one that they are read for.
class Gpu:
    name = "NVIDIA " + gpu.split("-")[0].upper()
    major = 9 if gpu.startswith("h") else 8 if gpu.startswith(("a100", "l40")) else 10
    minor = 0

def lend_gpu():
    if importlib.util.find_spec("torch") is None:
        return
    import torch
    if gpu and not torch.cuda.is_available():
        torch.cuda.get_device_properties = lambda *_: Gpu
        torch.cuda.get_device_capability = lambda *_: (Gpu.major, Gpu.minor)
        torch.cuda.get_device_name = lambda *_: Gpu.name

try:
    sys.path.insert(0, os.path.dirname(path))
    lend_gpu()
    names = runpy.run_path(path, run_name=kName)
    if not wanted:
        ready = [k for k, v in names.items() if k[0] != "_" and is_config(v)]
        if not recipes and len(ready) > 1:
            answer("choose", "\n".join(ready))
        wanted = (recipes or ready or [""])[0]
    if not wanted or wanted not in names:
        answer("choose", "\n".join(recipes))
    config = names[wanted]
    if callable(config) and not is_config(config):
        config = config()
    if not is_config(config):
        kind = type(config).__module__ + "." + type(config).__qualname__
        raise TypeError("%s is a %s, which has no `model` and `train`" % (wanted, kind))
    if isinstance(getattr(config, "mixed_precision", None), str):
        from megatron.bridge.training.mixed_precision import get_mixed_precision_config
        config.mixed_precision = get_mixed_precision_config(config.mixed_precision)
    text = json.dumps(plain(config), ensure_ascii=False)
except SystemExit as error:
    answer("failed", "it calls sys.exit(%s)%s" % (error.code, place(error)))
except BaseException as error:
    fail(error)
answer("config", text)
)py";
}

}  // namespace pleat
