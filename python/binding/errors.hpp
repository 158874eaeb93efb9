// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Errors as exceptions of Python: pleat.PleatError and its kinds, with the text and the exit code
// of the command line.
#pragma once

namespace pleat::python {

// ConfigError becomes the exception that pleat._errors.error_of(text, exit code) makes.
void translate_errors();

}  // namespace pleat::python
