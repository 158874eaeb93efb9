// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans from configurations that are trees of keys: torchtitan's TOML and arguments, DeepSpeed's
// JSON, NeMo's YAML.
#pragma once

#include <string>
#include <vector>

#include "interop/key_reader.hpp"
#include "interop/megatron_import.hpp"

namespace pleat::interop {

enum class KeyedFormat : unsigned char { torchtitan, deepspeed, nemo };

struct KeyedRun {
  ImportedRun run;
  std::vector<std::string> unpriced;  // "optimizer.early_step_in_backward: why"
};

// `text` is the file's. torchtitan: TOML where the name ends so, else the arguments of a command.
// Throws ConfigError (bad_file, with the key's path) for what cannot be read, said or predicted.
[[nodiscard]] KeyedRun import_keys(KeyedFormat, const std::string& text, const ImportChoices&,
                                   const std::string& where);

// The tree of keys that a file holds.
[[nodiscard]] JsonValue read_keys(KeyedFormat, const std::string& text, const std::string& where);

// What becomes of the keys that were not read: lines to say, problems for what is refused.
[[nodiscard]] std::vector<std::string> unread_lines(KeyedFormat, const KeyReader&, Diagnostics&);

// One format each, of the tree.
[[nodiscard]] ImportedRun import_titan(const KeyReader&, const ImportChoices&);
[[nodiscard]] ImportedRun import_deepspeed(const KeyReader&, const ImportChoices&);
[[nodiscard]] ImportedRun import_nemo(const KeyReader&, const ImportChoices&);

// torchtitan's arguments as the tree that its TOML would be: "--training.seq_len 4096".
[[nodiscard]] JsonValue titan_arguments(const std::string& text);

}  // namespace pleat::interop
