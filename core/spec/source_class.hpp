// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a number comes from, best first.
#pragma once

namespace pleat {

enum class SourceClass { measured, interpolated, fitted, datasheet };

}  // namespace pleat
