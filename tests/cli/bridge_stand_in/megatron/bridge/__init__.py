# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Stands for Megatron-Bridge in tests: containers of the same members, which do nothing."""
