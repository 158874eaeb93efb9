# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m pleat`` is the command ``pleat``."""

from .command import main

main()
