#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
MODEL_ARGS=(
  --use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
  --group-query-attention --num-query-groups 8 --normalization RMSNorm --position-embedding-type rope
  --untie-embeddings-and-output-weights --swiglu --vocab-size 32000
)
MOE_ARGS=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
  --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall)
torchrun pretrain_gpt.py "${MODEL_ARGS[@]}" --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 \
  --expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel --bf16 \
  --micro-batch-size 1 --global-batch-size 256 --recompute-granularity selective --recompute-modules core_attn
