#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Trains small tokenizers in the configurations of known models and records what they give.

Needs the packages tokenizers (the goldens are of 0.23.3) and Debian's bible-kjv:
  python3 tests/backend/data/make_tokenizer_goldens.py
writes tests/backend/data/tokenizers/*.json: one file a tokenizer, and expected.json with the ids.
"""
import json
import pathlib
import random
import subprocess
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers as pre
from tokenizers import processors, trainers

HERE = pathlib.Path(__file__).resolve().parent / "tokenizers"
VOCAB = 520
SPECIAL = "<|endoftext|>"

# What the models' own files have.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]


def split(pattern, behavior="isolated", invert=False):
    return pre.Split(Regex(pattern), behavior, invert)


def bytes_only():
    return pre.ByteLevel(add_prefix_space=False, use_regex=False)


def corpus():
    bible = subprocess.run(["bible", "gen1:1-gen20:18"], check=True, capture_output=True, text=True).stdout
    rows = [line for line in bible.splitlines() if line.strip()]
    return rows + [text for text in TEXTS if isinstance(text, str)] * 3


def train_bytes(name, pre_tokenizer, normalizer=None, template=None, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre_tokenizer
    if normalizer:
        t.normalizer = normalizer
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=[SPECIAL, "<|begin|>"], show_progress=False,
        initial_alphabet=pre.ByteLevel.alphabet()))
    t.post_processor = template or processors.ByteLevel(trim_offsets=False)
    save(name, t)


def save(name, t, edit=None):
    data = json.loads(t.to_str())
    if edit:
        edit(data)
    (HERE / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")


def train_sentencepiece(name, normalizer, pre_tokenizer, decoder, template=None, **flags):
    """Characters with byte fallback, as converted SentencePiece models are."""
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    if normalizer:
        t.normalizer = normalizer
    if pre_tokenizer:
        t.pre_tokenizer = pre_tokenizer
    t.decoder = decoder
    named = ["<unk>", "<s>", "</s>"]
    # A pre-tokenizer for the training alone, where the tokenizer has none: no token crosses words.
    keep = t.pre_tokenizer
    if pre_tokenizer is None:
        t.pre_tokenizer = pre.Split("\u2581", "merged_with_next")
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCAB, limit_alphabet=70, show_progress=False,
        special_tokens=named + [f"<0x{b:02X}>" for b in range(256)]))
    t.pre_tokenizer = keep
    if template:
        t.post_processor = template

    def edit(data):
        data["model"].update(flags)
        if pre_tokenizer is None:
            data["pre_tokenizer"] = None
        data["added_tokens"] = [a for a in data["added_tokens"] if a["content"] in named]
        if not flags.get("byte_fallback"):  # the byte tokens would stay, unused
            for b in range(256):
                del data["model"]["vocab"][f"<0x{b:02X}>"]
    save(name, t, edit)


def train_added(name):
    """Added tokens of every kind, an unknown token, normalizers that change lengths."""
    t = Tokenizer(models.BPE(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                         normalizers.Replace(Regex(r"\d{4,}"), "#"), normalizers.Strip()])
    t.pre_tokenizer = pre.Sequence([pre.Whitespace(), pre.Digits(individual_digits=False)])
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCAB, limit_alphabet=40, special_tokens=["[UNK]", "[SEP]"], show_progress=False))
    t.add_tokens([AddedToken("Lord", single_word=True, normalized=True), AddedToken("Élan", normalized=True),
                  AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<m", normalized=False),
                  AddedToken("<tail>", rstrip=True, normalized=False), AddedToken("tik", single_word=True, normalized=False)])
    t.add_special_tokens([AddedToken("<s>", normalized=False)])
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A [SEP]", special_tokens=[("<s>", t.token_to_id("<s>")), ("[SEP]", t.token_to_id("[SEP]"))])
    save(name, t)


def random_text(rng, length):
    """Assigned characters of many scripts, spaces and signs more often than chance has them."""
    ranges = [(0x20, 0x7E)] * 6 + [(0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF),
              (0xE00, 0xEFF), (0x1100, 0x11FF), (0x1E00, 0x20CF), (0x2100, 0x27BF), (0x3000, 0x30FF), (0x4E00, 0x9FFF),
              (0xAC00, 0xD7A3), (0xFB00, 0xFEFF), (0xFF00, 0xFFEF), (0x1F300, 0x1FAFF), (0x10000, 0x1059F),
              (0x1D400, 0x1D7FF), (0x20000, 0x2A6DF)]
    text = ""
    while len(text) < length:
        if rng.random() < 0.25:
            text += rng.choice([" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", " \n ", "\u00a0", "\u200d", "\u3000", "1", "12", "."])
            continue
        c = chr(rng.randint(*rng.choice(ranges)))
        category = unicodedata.category(c)
        newer = category.startswith("M") and normalizers.StripAccents().normalize_str(c) == c
        if category not in ("Cn", "Cs", "Co") and not newer:  # than the package's tables of marks
            text += c
    return text


TEXTS = [
    "", " ", "In the beginning God created the heaven and the earth.", "don't I'll we've they're he'd I'm IT'S it\u2019s",
    "\u017f'\u017f ma\u017fter'\u017ftroke \u212a'\u212a", "  leading, trailing  ", "a" * 300, " " * 400 + "x", "\n\n\n \n\t\t x\r\n\r\n y \r z",
    "tab\tand\x0bvertical\x0cfeed\x1c\x1d\x1e\x1f\x85\u2028\u2029end", "1 12 123 1234 12345 3.14159 1,000,000 \u0663\u0664\u0665 \u00bd\u00b2\u2167 \u4e8c\u5341",
    "int main() { return a[i]->b != 0x1F ? \"s\\n\" : '\\0'; }  // C++\n#define X(a) ((a)+1)\n\tfoo();",
    "\u00e9 e\u0301 \u00c5 \u212b A\u030a \u1e9b\u0323 \uac00 \u1100\u1161 \ufb01 \u0344", "Zoe\u0308 na\u00efve fa\u00e7ade \u0130stanbul \u1e9e stra\u00dfe \u03a3\u0399\u03a3\u03a5\u03a6\u039f\u03a3",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea\u2764\ufe0f \U0001f44d\U0001f3fd! \U0001f9d1\u200d\U0001f680",
    "\u6211\u80fd\u541e\u4e0b\u73bb\u7483\u800c\u4e0d\u4f24\u8eab\u4f53\u3002\u79c1\u306f\u30ac\u30e9\u30b9\u3092\u98df\u3079\u3089\u308c\u307e\u3059\u3002\ub098\ub294 \uc720\ub9ac\ub97c \uba39\uc744 \uc218 \uc788\uc5b4\uc694",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0425\u043e\u0440\u043e\u0448\u043e \u0395\u03bb\u03bb\u03ac\u03b4\u03b1",
    "zero\u200bwidth\ufeffno\u180ebreak\u00a0space\u1680ogham\u202fnarrow\u3000wide\u2009thin", "\x00nul\x01\x7f\u0080\u009f",
    "a\u0300\u0301\u0302\u0303\u0304\u0305 \u0300alone \u20dd", "\U0001d54f\U0001d568 \U00020000\U0002a6d6 \U00010330\U00010331 \u24b6\u24d0",
    f"before{SPECIAL}after {SPECIAL} {SPECIAL}{SPECIAL}", "<|begin|>x<|endoftex t|><|end", "<s>hi</s> <unk> <0x41> \u2581under\u2581 score \u2581",
    "Lord Lordly the Lord, LORD \u00c9lan \u00e9lan e\u0301lan", "x <mask> y  <mask>z <m <ma <tail>   end tik tiktok tik.", "!!! ... --- ((( ))) \u00ab\u00bb \u2014\u2026 $\u20ac\u00a3 +<=>",
    "\u2581", "  \u2581 \u2581\u2581  a", "ABCdef GHIjklMNO aB Ab ABC \u01c5abc \u02b0x \u00aa", "path/to/file.txt\n/usr//bin/\r\n/", "12345678 and 2024 or 99999",
    b"\xff\xfe abc \xe2\x82", b"\xed\xa0\x80 \xf0\x9f\x98 \xf0\x9f\x98\x80 \xc0\xaf \xe0\x80\xaf \xf4\x90\x80\x80 \xf5", b"ok \xe2\x28\xa1 \xc3( \x80\x80 end\xc3",
    "e\u0301" * 40, "\u1100\u1161\u11a8" * 10, ("word " * 30) + "\n" + ("w\u00f6rd " * 20),
]
_rng = random.Random(7)
TEXTS += [random_text(_rng, 60) for _ in range(30)]


def fnv(ids):
    """64-bit FNV-1a over the ids as little-endian 32-bit words."""
    h = 0xCBF29CE484222325
    for i in ids:
        for b in int(i).to_bytes(4, "little"):
            h = ((h ^ b) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


def expected(t, text, specials):
    decoded = text if isinstance(text, str) else text.decode("utf-8", errors="replace")
    ids = t.encode(decoded, add_special_tokens=specials).ids
    return ids if len(ids) <= 24 else f"{len(ids)} {fnv(ids)}"


def main():
    HERE.mkdir(exist_ok=True)
    gpt2 = pre.ByteLevel(add_prefix_space=False, use_regex=True)
    train_bytes("gpt2", gpt2)
    train_bytes("prefix_space", pre.ByteLevel(add_prefix_space=True, use_regex=True))
    train_bytes("llama3", pre.Sequence([split(LLAMA3), bytes_only()]), ignore_merges=True,
                template=processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
                    single="<|begin|> $A", special_tokens=[("<|begin|>", 1)])]))
    train_bytes("qwen2", pre.Sequence([split(QWEN2), bytes_only()]), normalizers.NFC())
    train_bytes("qwen35", pre.Sequence([split(QWEN35), bytes_only()]), normalizers.NFC())
    train_bytes("o200k", pre.Sequence([split(O200K), bytes_only()]))
    train_bytes("deepseek", pre.Sequence([split(p) for p in DEEPSEEK] + [bytes_only()]), normalizers.Sequence([]))
    train_bytes("starcoder", pre.Sequence([pre.Digits(individual_digits=True), gpt2]))
    llama2 = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                decoders.Strip(" ", 1, 0)])
    bos = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    train_sentencepiece("llama2", normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
                        None, llama2, bos, byte_fallback=True, fuse_unk=True)
    train_sentencepiece("metaspace", None, pre.Metaspace("\u2581", "first", False), decoders.Metaspace("\u2581", "first"), bos,
                        byte_fallback=True, fuse_unk=True)
    train_sentencepiece("gemma", normalizers.Replace(" ", "\u2581"), pre.Split(" ", "merged_with_previous"), llama2,
                        byte_fallback=True, fuse_unk=True)
    train_sentencepiece("unknown_fused", None, pre.Metaspace("\u2581", "always", True), decoders.Metaspace(), fuse_unk=True)
    train_sentencepiece("unknown_each", None, pre.Sequence([pre.Punctuation("merged_with_previous"), split(r"\s+", "removed"),
                        split(r"[aeiou]+", "merged_with_next"), split(r"[A-Z]", "contiguous", True)]), decoders.Fuse())
    train_added("added")
    names = sorted(p.stem for p in HERE.glob("*.json") if p.stem != "expected")
    out = {"texts": [{"text": x} if isinstance(x, str) else {"hex": x.hex()} for x in TEXTS], "ids": {}, "decoded": {}}
    for name in names:
        t = Tokenizer.from_file(str(HERE / f"{name}.json"))
        out["ids"][name] = [expected(t, text, specials=True) for text in TEXTS]
        out["decoded"][name] = [t.decode(t.encode(TEXTS[i], add_special_tokens=False).ids, skip_special_tokens=False)
                                for i in (2, 14, 15)]
    lines = json.dumps(out, ensure_ascii=True, separators=(",", ":")).replace('],"', '],\n"').replace('},{"text', '},\n{"text')
    (HERE / "expected.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
