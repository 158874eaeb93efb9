// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The model that Megatron-LM's architecture arguments describe.
#pragma once

#include "interop/argument_reader.hpp"
#include "interop/megatron_import.hpp"
#include "core/spec/model.hpp"

namespace pleat::interop {

[[nodiscard]] ModelSpec read_megatron_model(const ArgumentReader&, ImportedRun&);

}  // namespace pleat::interop
