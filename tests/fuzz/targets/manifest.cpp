// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Manifests of checkpoints and the records that ranks send for them.
#include "backend/checkpoint/manifest.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const std::string text(input);
  const Manifest manifest = read_manifest(text, "manifest.json");
  require(read_manifest(write_manifest(manifest), "again.json") == manifest,
          "a manifest that is not read as written");
}

}  // namespace pleat::fuzz
