// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// tokenizer.json's sections "normalizer", "pre_tokenizer", "post_processor" and "decoder".
#pragma once

#include "backend/data/tokenizer/bpe_tokenizer.hpp"
#include "core/json/object_reader.hpp"

namespace pleat {

// Each takes the section's value, which may be null, and reports what it does not know to the
// reader's diagnostics.
void read_normalizer(const JsonValue&, const std::string& path, ReaderContext, BpeTokenizerSpec&);
void read_pre_tokenizer(const JsonValue&, const std::string& path, ReaderContext,
                        BpeTokenizerSpec&);
void read_post_processor(const JsonValue&, const std::string& path, ReaderContext,
                         BpeTokenizerSpec&);
// A decoder nobody here knows is no error: it only changes how tokens are printed.
void read_decoder(const JsonValue&, const std::string& path, ReaderContext, BpeTokenizerSpec&);

}  // namespace pleat
