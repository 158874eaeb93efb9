#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""An independent implementation of what the backend computes: Hugging Face's models in PyTorch, on
the CPU, in fp32 with eager attention.

  reference.py golden FOLDER     writes FOLDER/<case>.json: losses, logits and every gradient as signatures
  reference.py live CASE FOLDER  loads the model in FOLDER, writes FOLDER/results.safetensors: all elements

A case is a file models/<case>.json: a Hugging Face config.json, and under "pleat" what such a file
cannot say. Weights come from a formula (formula.py), so that a golden needs no weight file.
"""
import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

import formula
from names import Names
from prediction import PredictionDepth

HERE = pathlib.Path(__file__).parent
SEQUENCE, BATCH = 24, 4


def shape_of(parts):
    return (sum(p.shape[0] for p in parts),) + tuple(parts[0].shape[1:])


class Case:
    """A model with the formula's weights, or the one in a folder."""

    def __init__(self, name, folder=None):
        document = json.loads((HERE / "models" / f"{name}.json").read_text())
        self.extra = document.pop("pleat", {})
        how = {"dtype": torch.float32, "attn_implementation": "eager", "experts_implementation": "eager"}
        if folder is not None:
            self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, **how)
        else:
            config = transformers.AutoConfig.for_model(**document)
            self.model = transformers.AutoModelForCausalLM.from_config(config, **how)
        self.model.train()  # without dropout the same, and gradients are kept
        with_depth = folder is None and self.extra.get("mtp_loss")
        self.depth = PredictionDepth(self.model) if with_depth else None
        self.names = Names(self.model, self.depth)
        if folder is None:
            self.fill()
        self.routers = []
        for module in self.modules():
            if type(module).__name__.lower().endswith("topkrouter"):
                module.register_forward_hook(lambda m, i, o: self.routers.append((m, o[0], o[2])))

    def fill(self):
        for full, parts in self.names.items():
            shape = shape_of(parts)
            values = torch.as_tensor(formula.weight(full, shape))
            with torch.no_grad():
                for part, piece in zip(parts, values.split([p.shape[0] for p in parts])):
                    part.copy_(piece)

    def modules(self):
        yield from self.model.modules()
        if self.depth is not None:
            yield from self.depth.modules()

    def run(self):
        """Loss of the batch, its logits; leaves the gradients in the parameters."""
        tokens = torch.from_numpy(formula.tokens(BATCH * SEQUENCE + 2)).long()
        at = torch.arange(BATCH)[:, None] * SEQUENCE + torch.arange(SEQUENCE)[None]
        hidden = self.model.base_model(tokens[at]).last_hidden_state
        logits = self.model.lm_head(hidden)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[at + 1].flatten())
        losses = {"loss": loss}
        if self.depth is not None:
            ahead = self.depth(hidden, tokens[at + 1])
            # The last position of a sequence has no target: the sample ends there.
            losses["mtp"] = self.extra["mtp_loss"] * torch.nn.functional.cross_entropy(
                ahead[:, :-1].flatten(0, 1), tokens[at + 2][:, :-1].flatten())
        for kind in ("aux_loss", "seq_aux_loss", "z_loss"):
            if self.extra.get(kind):
                losses[kind] = self.extra[kind] * sum(
                    getattr(self, kind)(logits, chosen) for _, logits, chosen in self.routers)
        sum(losses.values()).backward()
        return {k: float(v.detach()) for k, v in losses.items()}, logits.detach()

    def shares(self, logits, chosen):
        """Per sequence: the share of the assignments and the mean score of each expert."""
        experts = logits.shape[-1]
        score = logits.sigmoid() if self.sigmoid else logits.softmax(-1)
        score = score / score.sum(-1, keepdim=True)
        counts = torch.nn.functional.one_hot(chosen, experts).sum(1).to(score.dtype)
        split = lambda x: x.view(BATCH, SEQUENCE, experts).mean(1)
        return split(counts) / chosen.shape[-1], split(score)

    @property
    def sigmoid(self):
        return self.model.config.model_type == "deepseek_v3"

    def aux_loss(self, logits, chosen):
        """Fedus et al., Switch Transformers, equations 4 to 6, over each microbatch."""
        together = lambda x: x.view(-1, self.extra["micro_batch"], x.shape[-1]).mean(1)
        f, p = (together(x) for x in self.shares(logits, chosen))
        return logits.shape[-1] * (f * p).sum(-1).mean()

    def seq_aux_loss(self, logits, chosen):
        """DeepSeek-V3 (arXiv:2412.19437), equations 17 to 20."""
        f, p = self.shares(logits, chosen)
        return logits.shape[-1] * (f * p).sum(-1).mean()

    def z_loss(self, logits, chosen):
        """Zoph et al., ST-MoE, equation 5."""
        return logits.logsumexp(-1).square().mean()

    def gradients(self):
        out = {}
        for full, parts in self.names.items():
            if all(p.grad is None for p in parts):
                continue
            out[full] = torch.cat([p.grad for p in parts]).detach().numpy()
        return out


def rows(entries):
    return "{\n" + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in entries.items()) + "}"


def golden(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    for path in sorted((HERE / "models").glob("*.json")):
        case = Case(path.stem)
        losses, logits = case.run()
        document = {
            "made_by": f"tests/reference/reference.py, torch {torch.__version__.split('+')[0]}, "
                       f"transformers {transformers.__version__}",
            "losses": losses,
            "shapes": {n: list(shape_of(p)) for n, p in case.names.items()},
            "logits": formula.signature("logits", logits.numpy()),
            "gradients": {n: formula.signature(n, g) for n, g in case.gradients().items()},
        }
        text = ",\n".join(f'"{k}": {rows(v) if isinstance(v, dict) else json.dumps(v)}' for k, v in document.items())
        (folder / path.name).write_text("{" + text + "}\n")
        print(path.stem, {k: round(v, 6) for k, v in losses.items()}, len(document["gradients"]))


def live(name, folder):
    case = Case(name, folder)
    losses, logits = case.run()
    tensors = {"logits": logits, "loss": torch.tensor([losses["loss"]])}
    tensors.update({n: torch.from_numpy(g.copy()) for n, g in case.gradients().items()})
    safetensors.torch.save_file(tensors, pathlib.Path(folder) / "results.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if sys.argv[1] == "golden":
        golden(sys.argv[2])
    elif sys.argv[1] == "live":
        live(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
