// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/import_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/report/model_report.hpp"
#include "console/output.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::cli {
namespace {

void import_hugging_face(const ImportOptions& o) {
  check_output(o.output);
  std::string path = only_file(o);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path += "/config.json";
  const HfImport import = load_model(path.find('/') == std::string::npos ? "./" + path : path);
  for (const std::string& assumption : import.assumptions) note("assumed: " + assumption);
  if (!import.unused_fields.empty())
    note(fmt::format("not read: {}", fmt::join(import.unused_fields, ", ")));
  // The file itself is the model file: what was read is printed, the text is kept as it is.
  if (!o.output.file.empty()) write_output(o.output, o.output.file, read_text_file(path));
  print(o.json ? model_json(import, 4096) : model_text(import, 4096));
}

}  // namespace

const std::vector<std::string>& import_kinds() {
  static const std::vector<std::string> kinds{"megatron-log", "megatron-args", "megatron-bridge",
                                              "torchtitan",   "deepspeed",     "nemo",
                                              "hf",           "nccl-tests"};
  return kinds;
}

void import_files(const ImportOptions& o) {
  if (o.kind == "megatron-log")
    import_megatron_log(o);
  else if (o.kind == "megatron-args")
    import_megatron_arguments(o);
  else if (o.kind == "megatron-bridge")
    import_bridge_config(o);
  else if (o.kind == "torchtitan" || o.kind == "deepspeed" || o.kind == "nemo")
    import_keyed_config(o);
  else if (o.kind == "hf")
    import_hugging_face(o);
  else
    import_nccl_tests(o);
}

}  // namespace pleat::cli
