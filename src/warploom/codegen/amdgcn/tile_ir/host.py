"""``host_source``: a C++ program for hipcc that launches a compiled kernel, without this package.

It takes axis sizes and scalars as ``name=value``, reads dense inputs from ``NAME.bin``, and writes
outputs there; an output whose file exists is added to what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES = {"pointer": "void *", "i64": "int64_t ", "i32": "int32_t ", "f32": "float "}
_BYTES = {
    "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "e4m3": 1, "e5m2": 1, "i8": 1, "bool": 1,
}  # fmt: skip

_HEAD = """\
// {computes} on gfx950, emitted by warploom. Never run on the chip by its authors.
//   hipcc host.cpp -o host && ./host kernel.hsaco {usage}
// Inputs are read from NAME.bin, dense and row-major; outputs are written there.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#define CHECK(call)                                                                  \\
  do {{                                                                               \\
    hipError_t code = (call);                                                        \\
    if (code != hipSuccess) {{                                                        \\
      std::fprintf(stderr, "%s: %s\\n", #call, hipGetErrorString(code));              \\
      return 1;                                                                      \\
    }}                                                                                \\
  }} while (0)

// The kernel's arguments, in order.
struct Arguments {{
{fields}
}};

static std::vector<char> read_file(const std::string &path) {{
  std::ifstream in(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(in), {{}});
}}

static int64_t up(int64_t n, int64_t by) {{ return (n + by - 1) / by; }}

"""

_MAIN = """\
static int run(int argc, char **argv) {{
  std::map<std::string, double> given;
  for (int i = 2; i < argc; ++i) {{
    std::string word = argv[i];
    size_t at = word.find('=');
    if (at == std::string::npos) {{
      std::fprintf(stderr, "%s: write it as name=value\\n", argv[i]);
      return 2;
    }}
    given[word.substr(0, at)] = std::atof(word.c_str() + at + 1);
  }}
  for (const char *name : {{{needed}}}) {{
    if (!given.count(name)) {{
      std::fprintf(stderr, "missing %s=\\n", name);
      return 2;
    }}
  }}
  std::vector<char> image = argc > 1 ? read_file(argv[1]) : std::vector<char>();
  if (image.empty()) {{
    std::fprintf(stderr, "usage: host kernel.hsaco {usage}\\n");
    return 2;
  }}
{sizes}
  Arguments arguments = {{}};
  struct Tensor {{ std::string name; int64_t bytes; bool output; void **place; }};
  std::vector<Tensor> tensors;
{tensors}
{scalars}
  for (Tensor &tensor : tensors) {{
    std::vector<char> data = read_file(tensor.name + ".bin");
    if (!tensor.output && (int64_t)data.size() != tensor.bytes) {{
      std::fprintf(stderr, "%s.bin has %zu bytes, %lld are needed\\n", tensor.name.c_str(),
                   data.size(), (long long)tensor.bytes);
      return 2;
    }}
    data.resize(tensor.bytes);
    CHECK(hipMalloc(tensor.place, tensor.bytes ? tensor.bytes : 16));
    CHECK(hipMemcpy(*tensor.place, data.data(), tensor.bytes, hipMemcpyHostToDevice));
  }}
{grid}
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&module, image.data()));
  CHECK(hipModuleGetFunction(&function, module, "{kernel}"));
  size_t size = sizeof(arguments);
  void *extra[] = {{HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments,
                   HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END}};
  if (groups > 0)
    CHECK(hipModuleLaunchKernel(function, (unsigned)groups, 1, 1, {threads}, 1, 1, 0, nullptr,
                                nullptr, extra));
  CHECK(hipStreamSynchronize(nullptr));
  for (Tensor &tensor : tensors) {{
    if (tensor.output) {{
      std::vector<char> data(tensor.bytes);
      CHECK(hipMemcpy(data.data(), *tensor.place, tensor.bytes, hipMemcpyDeviceToHost));
      std::ofstream out(tensor.name + ".bin", std::ios::binary);
      out.write(data.data(), data.size());
    }}
    CHECK(hipFree(*tensor.place));
  }}
  CHECK(hipModuleUnload(module));
  return 0;
}}

#ifdef WARPLOOM_HOST_LIBRARY
extern "C" int host_main(int argc, char **argv) {{ return run(argc, argv); }}
#else
int main(int argc, char **argv) {{ return run(argc, argv); }}
#endif
"""


def host_source(sidecar: Mapping[str, Any]) -> str:
    """The program for a sidecar."""
    arguments = sidecar["arguments"]
    sizes = [a["of"] for a in arguments if a["what"] == "size"]
    scalars = [a for a in arguments if a["what"] == "scalar"]
    needed = [*sizes, *(a["of"] for a in scalars)]
    usage = " ".join(f"{name}=..." for name in needed)
    fields = "\n".join(
        f"  {_TYPES[a['kind']]}{a['name']};  // {a['what']} {a['of']}"
        + (f", axis {a['axis']}" if a["what"] == "stride" else "")
        for a in arguments
    )
    numbered = {name: f"n{i}" for i, name in enumerate(sizes)}
    numbered |= {name: str(n) for name, n in sidecar["fixed_sizes"].items()}
    known = [f'  int64_t {numbered[n]} = (int64_t)given["{n}"];  // {n}' for n in sizes]
    return _HEAD.format(computes=sidecar["computes"], usage=usage, fields=fields) + _MAIN.format(
        needed=", ".join(f'"{n}"' for n in needed) or '"kernel"',
        usage=usage,
        sizes="\n".join(known),
        tensors="\n".join(_tensors(sidecar, numbered)),
        scalars="\n".join(_numbers(arguments, numbered)),
        grid=_grid(sidecar["grid"], numbered),
        kernel=sidecar["kernel"],
        threads=sidecar["block_size"][0],
    )


def _numbers(arguments: list[Mapping[str, Any]], numbered: Mapping[str, str]) -> Iterator[str]:
    for a in arguments:
        kind = _TYPES[a["kind"]].strip()
        if a["what"] == "size":
            yield f"  arguments.{a['name']} = ({kind}){numbered[a['of']]};"
        elif a["what"] == "scalar":
            yield f'  arguments.{a["name"]} = ({kind})given["{a["of"]}"];'


def _tensors(sidecar: Mapping[str, Any], numbered: Mapping[str, str]) -> Iterator[str]:
    arguments = sidecar["arguments"]
    for tensor in sidecar["tensors"]:
        name, output = tensor["name"], tensor["access"] == "out"
        more = " + 1" if tensor["access"] == "starts" else ""
        shape = [f"(up({numbered[a['name']]}, {a['per']}){more})" for a in tensor["axes"]]
        field = next(a for a in arguments if (a["what"], a["of"]) == ("tensor", name))["name"]
        total = " * ".join([*shape, str(_BYTES[tensor["dtype"]])])
        yield (
            f'  tensors.push_back({{"{name}", {total}, {"true" if output else "false"}, '
            f"&arguments.{field}}});"
        )
        for a in arguments:
            if (a["what"], a["of"]) == ("stride", name):
                step = " * ".join(shape[a["axis"] + 1 :])
                yield f"  arguments.{a['name']} = {step};"


def _grid(rule: Mapping[str, Any], numbered: Mapping[str, str]) -> str:
    parts = [f"up({numbered[t['axis']]}, {t['extent']})" for t in rule["tiles"]] or ["1"]
    lines = [f"  int64_t groups = {' * '.join(parts)};"]
    if rule["kind"] == "groups":
        rows, extent = numbered[rule["rows"]["axis"]], rule["rows"]["extent"]
        count = numbered[rule["groups"]]
        lines.append(f"  groups *= {rows} ? {rows} / {extent} + {count} : 0;")
    return "\n".join(lines)
