# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""One depth of multi-token prediction (DeepSeek-V3, arXiv:2412.19437 section 2.2), which transformers
leaves out: [norm(embedding of the next token) | norm(hidden)] -> projection -> decoder layer -> norm ->
the model's head. Table and head are the model's own."""
import copy

import torch


class PredictionDepth(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        width = model.config.hidden_size
        last = model.model.layers[-1]
        self.shared = (model,)  # in a tuple: no parameters of this module
        self.layer = copy.deepcopy(last)
        self.h_norm = copy.deepcopy(model.model.norm)
        self.e_norm = copy.deepcopy(model.model.norm)
        self.final_norm = copy.deepcopy(model.model.norm)
        self.proj = torch.nn.Linear(2 * width, width, bias=False)

    def forward(self, hidden, tokens):
        model = self.shared[0]
        embedded = model.model.embed_tokens(tokens)
        x = self.proj(torch.cat([self.e_norm(embedded), self.h_norm(hidden)], -1))
        positions = torch.arange(x.shape[1])[None]
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)[None, None]
        x = self.layer(x, attention_mask=mask, position_ids=positions,
                       position_embeddings=model.model.rotary_emb(x, positions))
        return model.lm_head(self.final_norm(x[0] if isinstance(x, tuple) else x))
