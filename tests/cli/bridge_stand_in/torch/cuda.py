# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
def is_available():
    return False


def get_device_properties(_):
    raise RuntimeError("no driver")
