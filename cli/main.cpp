// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The one binary.
#include "cli/application.hpp"

int main(int argc, char** argv) { return pleat::cli::run_application(argc, argv); }
