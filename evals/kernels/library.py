"""Cases of nki-library (April 2026): its own tests, at shapes that take seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evals.kernels.case import Case
from evals.kernels.library_tests import TestCase

__all__ = ["CASES"]

_MX: Final = ("trn3",)


def _case(
    name: str,
    module: str,
    test: str,
    row: int | None = None,
    *,
    targets: tuple[str, ...] = ("trn2", "trn3"),
    lnc: int = 1,
    tensors: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Case:
    return TestCase(
        name=f"library/{name}", module=module, test=test, row=row, targets=targets, lnc=lnc,
        tensors=tensors or {}, arguments=arguments,
    )


def _attention() -> tuple[Case, ...]:
    cte, tests = "core.attention.test_attention_cte", "TestRangedAttentionCTEKernels.test_attention_cte"
    common = {"softmax_scale": 0.125, "dtype": "nl.bfloat16", "tp_q": True, "tp_out": False}
    whole = {**common, "softmax_scale": 1.0}
    cached = {**whole, "tp_k": False, "prior_len": 512, "prior_used_len": 300}
    backward, bwd = "core.attention.test_attention_bwd", "TestAttentionBwdKernel.test_attention_bwd"
    gradient = {"batch_size": 1, "head_dim": 64, "dtype": "nl.bfloat16"}
    return (
        _case("attention_cte", cte, f"{tests}_no_cp_unit", bs=1, seqlen_kv=512, seqlen_q=384, d=64,
              causal_mask=False, **{**common, "dtype": "np.float32"}),
        _case("attention_cte/causal_lnc2", cte, f"{tests}_no_cp_vnc_unit", vnc_degree=2, bs=2, seqlen_kv=512,
              seqlen_q=512, d=128, causal_mask=True, sink=False, sliding_window=0, **common),
        _case("attention_cte/sliding_window_sink", cte, f"{tests}_no_cp_vnc_unit", vnc_degree=1, bs=1,
              seqlen_kv=768, seqlen_q=768, d=64, causal_mask=True, sink=True, sliding_window=128, **whole),
        _case("attention_cte/prefix_cache", cte, f"{tests}_no_cp_vnc_apc_klr_unit", vnc_degree=2, bs=2,
              seqlen_kv=512, seqlen_q=512, d=64, causal_mask=True, sink=False, sliding_window=0, **cached),
        _case("attention_cte/grouped", cte, f"{tests}_no_cp_vnc_gqa_unit", vnc_degree=2, bs=4, bs_kv=1,
              seqlen_kv=512, seqlen_q=512, d=64, causal_mask=True, sink=False, sliding_window=0, **cached),
        _case("attention_cte/context_parallel", cte, f"{tests}_cp_bk_klr_unit", bs=2, q_seqlen_partial=256,
              kv_seqlen=512, d=64, tp_k=False, cp_rank_id=1, cp_degree=2, sink=False, sliding_window=0,
              cp_strided_q_slicing=False, **whole),
        _case("attention_cte/packed", cte, f"{tests}_seq_pack_unit", lnc_degree=1, bs=1, bs_kv=1, seqlen=512,
              d=96, causal_mask=True, sliding_window=0, n_packed_sequences=4, **whole),
        _case("attention_bwd", backward, f"{bwd}_fast", num_q_heads=1, num_kv_heads=1, seq_len=512, causal=True,
              sliding_window=None, num_sinks=0, **gradient),
        _case("attention_bwd/grouped_sinks", backward, f"{bwd}_fast", num_q_heads=2, num_kv_heads=1,
              seq_len=512, causal=True, sliding_window=None, num_sinks=2, **gradient),
        _case("attention_bwd/packed", backward, f"{bwd}_sequence_packing", 0),
    )


def _attention_tkg() -> tuple[Case, ...]:
    module, test = "core.attention.test_attention_tkg", "TestAttentionTkgKernel.test_attn_tkg_sweep"
    common = {
        "batch_size": 2, "q_head": 2, "s_active": 2, "s_prior": 256, "s_prior_full_multiple": 1, "d_head": 64,
        "block_len": 0, "tp_k_prior": True, "strided_mm1": True, "use_pos_id": False, "fuse_rope": False,
        "out_in_sb": False, "k_out_in_sb": False, "qk_in_sb": True, "dtype": "nl.bfloat16", "sink": False,
        "fp8_kv": False, "sliding_window": 0,
    }
    return (
        _case("attention_tkg", module, test, **common),
        _case("attention_tkg/lnc2_rope", module, test, lnc=2,
              **{**common, "qk_in_sb": False, "fuse_rope": True, "use_pos_id": True}),
        _case("attention_tkg/sink_window", module, test, **{**common, "sink": True, "sliding_window": 128}),
    )


def _masks() -> tuple[Case, ...]:
    module, test = "core.attention.test_gen_mask_tkg", "TestGenMaskTkg.test"
    return (
        _case("gen_mask_tkg", module, f"{test}_flat_kv_strided_mask_generation", 0),
        _case("gen_mask_tkg_hbm", module, "TestGenMaskTkgHbm.test_flat_kv", 0),
        _case("gen_mask_tkg_hbm/block", module, "TestGenMaskTkgHbm.test_block_kv", 0),
        _case("gen_mask_tkg_hbm/active", module, "TestGenMaskTkgHbm.test_active_mask", 0),
        _case("gen_mask_tkg_hbm/window", module, "TestGenMaskTkgHbm.test_swa", 0),
        _case("gen_mask_tkg_hbm/lnc2", module, "TestGenMaskTkgHbm.test_gen_mask_hbm_lnc_sweep", batch=4, q_head=1,
              s_ctx=1024, s_active=5, block_len=0, strided_mm1=True, sliding_window=0, lnc=2),
    )


def _projections() -> tuple[Case, ...]:
    cte, tkg = "core.output_projection.test_output_proj_cte", "core.output_projection.test_output_proj_tkg"
    test = "TestOutputProjCteKernel.test_output_proj_cte"
    sizes = {"batch": 1, "seqlen": 256, "hidden": 1024, "n_head": 4, "d_head": 64, "test_bias": True}
    token = {"B": 4, "n_heads": 4, "S_tkg": 2, "d_head": 64, "H": 1024, "test_bias": True, "transpose_out": False}
    qkv_cte, qkv_tkg = "core.qkv.test_qkv_cte", "core.qkv.test_qkv_tkg"
    qkv = {"collector": None, "B": 1, "S": 128, "H": 1024, "n_q_heads": 2, "n_kv_heads": 1, "d_head": 128,
           "fused_qkv_dim": 512, "eps": 1e-6, "dtype": "nl.bfloat16"}
    return (
        _case("output_projection_cte", cte, f"{test}_bf16_unit", **sizes),
        _case("output_projection_cte/fp8", cte, f"{test}_static_fp8_unit", **sizes),
        _case("output_projection_cte/mxfp4", cte, f"{test}_mxfp4_unit", targets=_MX, **{**sizes, "d_head": 128}),
        _case("output_projection_tkg", tkg, "TestOutputProjTkgKernel.test_output_proj_tkg_unit",
              quantization_type="QuantizationType.NONE", **token),
        _case("qkv_cte", qkv_cte, "TestQkvCteKernel.run_qkv_cte_test", lnc=1, lnc_degree=1,
              norm_type="NormType.RMS_NORM", fused_add=True, **qkv),
        _case("qkv_cte/rope_lnc2", qkv_cte, "TestQkvCteKernel.test_qkv_cte_fused_rope_unit", 1, hidden_dim=1024),
        _case("qkv_tkg", qkv_tkg, "TestQkvTkgKernel.run_qkv_tkg_test", lnc=1, lnc_degree=1,
              norm_type="NormType.RMS_NORM", fused_add=True, **{**qkv, "S": 4}),
        _case("qkv_tkg/layer_norm_lnc2", qkv_tkg, "TestQkvTkgKernel.run_qkv_tkg_test", lnc=2, lnc_degree=2,
              norm_type="NormType.LAYER_NORM", fused_add=False, qkv_bias=True, **{**qkv, "S": 4}),
        _case("mlp_cte", "core.mlp.test_mlp_cte", "TestMlpCteKernel.test_mlp_cte_unit"),
        _case("mlp_tkg", "core.mlp.test_mlp_tkg", "TestMlpTkgKernel.test_mlp_tkg_unit"),
        _case("mlp_gate_up_mxfp4", "core.mlp.test_mlp_proj_mxfp4",
              "TestMlpProjMxfp4Kernel.test_mxfp4_gate_up_proj_unit", targets=_MX, BxS=4, H=2048, I=192),
        _case("mlp_down_mxfp4", "core.mlp.test_mlp_proj_mxfp4",
              "TestMlpProjMxfp4Kernel.test_mxfp4_down_proj_unit", targets=_MX, BxS=4, H=2048, I=192,
              use_stream_shuffle_broadcast=True),
    )


def _experts() -> tuple[Case, ...]:
    cte, mx, tkg = "core.moe.moe_cte.test_moe_cte", "core.moe.moe_cte.test_moe_bwmm_mx_cte", "core.moe.moe_tkg.test_moe_tkg"
    sizes = {"hidden": 512, "tokens": 256, "expert": 4, "block_size": 128, "top_k": 2, "intermediate": 256}
    return (
        _case("moe_cte", cte, "TestMoeBlockwiseMatMulLnc2.test_moe_blockwise_mm_kernel_lnc2", 0,
              **{**sizes, "block_size": 256}),
        _case("moe_cte/mx", mx, "TestMoeBwmmMxCteKernel.test_moe_bwmm_mx_cte_unit", 0, targets=_MX,
              **{**sizes, "hidden": 1024, "intermediate": 512}),
        _case("moe_cte/shard_on_hidden", "experimental.moe.test_bwmm_shard_on_H",
              "TestMoeBlockwiseMatMulShardH.run_bwmm_h_test", lnc=2, lnc_degree=2,
              tensors={"cfg": {"tok": 256, "hid": 512, "int": 256, "exp": 4, "bs": 128, "k": 2, "dt": "nl.bfloat16",
                               "sk": 0, "sm": "ExpertAffinityScaleMode.POST_SCALE", "ca": False}}),
        _case("moe_tkg", tkg, "TestMoeTkgKernel.test_moe_tkg_bfloat16", 1, tokens=4, hidden=1024,
              intermediate=256, expert=2),
        _case("moe_tkg/mx", tkg, "TestMoeTkgKernel.test_moe_tkg_mx", 0, targets=_MX, tokens=32, hidden=1536,
              intermediate=512),
        _case("moe_bwd", "experimental.moe.test_bwmm_bwd",
              "TestMoeBlockwiseMatMulBwdShardHAffinityHDroplessLnc2."
              "test_moe_blockwise_mm_bwd_shardH_affinityH_dropless_lnc2", 0,
              **{**sizes, "block_size": 256}),
        _case("router_topk", "core.router_topk.test_router_topk", "TestRouterTopkKernel.test_router_topk", 0),
    )


def _norms() -> tuple[Case, ...]:
    subkernels, quant = "core.subkernels", "core.rmsnorm.test_rmsnorm_quant"
    layer = {"lnc_degree": 1, "batch": 2, "seqlen": 2, "hidden": 1024, "shard_on_h": False}
    return (
        _case("layernorm_tkg", f"{subkernels}.test_layernorm_tkg", "TestLayerNormTKGKernel.test_layernorm_tkg_unit",
              dtype="np.float16", **layer),
        _case("layernorm_tkg/lnc2", f"{subkernels}.test_layernorm_tkg",
              "TestLayerNormTKGKernel.test_layernorm_tkg_unit", dtype="nl.bfloat16", **{**layer, "lnc_degree": 2}),
        _case("rmsnorm_tkg", f"{subkernels}.test_rmsnorm_tkg", "TestRmsNormTKGKernel.test_rmsnorm_tkg_unit",
              hidden_actual=None, hidden_dim_tp=False, dtype="np.float16", **layer),
        _case("rmsnorm_tkg/lnc2", f"{subkernels}.test_rmsnorm_tkg", "TestRmsNormTKGKernel.test_rmsnorm_tkg_unit",
              hidden_actual=None, hidden_dim_tp=False, dtype="nl.bfloat16", **{**layer, "lnc_degree": 2}),
        _case("rmsnorm_mx_quantize_tkg", f"{subkernels}.test_rmsnorm_mx_quantize_tkg",
              "TestRmsNormQuantizeMxTKGKernel.test_rmsnorm_mx_quantize_tkg", 0, targets=_MX),
        _case("rmsnorm_quant", quant, "TestRmsNormQuantKernel.test_rmsnorm_quant_lnc_unit", 0, hidden=2048),
        _case("rmsnorm_quant/lnc1", quant, "TestRmsNormQuantKernel.test_rmsnorm_quant_vnc_unit", 0, hidden=2048),
    )


def _searches() -> tuple[Case, ...]:
    maximum, utilities = "core.max.test_cascaded_max", "core.max.test_cascaded_max_utils"
    finds, flatten = "core.subkernels.test_find_nonzero_indices", "core.subkernels.test_indexed_flatten"
    topk = {"batch": 2, "seqlen": 2, "vocab_size": 3168, "dtype": "nl.float32"}
    return (
        *(
            _case(f"cascaded_max/lnc{lnc}", maximum, "TestCascadedMaxKernel.test_cascaded_max_unit",
                  lnc_degree=lnc, batch=2, seqlen=3, vocab_size=3168, dtype="nl.float32")
            for lnc in (1, 2)
        ),
        _case("cascaded_max/folded", utilities, "TestCascadedMaxUtils.test_folded_load_store_full_batch", 0),
        _case("cascaded_max/partial", utilities, "TestCascadedMaxUtils.test_folded_load_store_partial_batch", 0),
        _case("topk", "core.topk.test_topk", "TestTopKKernel.test_topk_unit", lnc_degree=1, K=64, **topk),
        _case("topk/lnc2", "core.topk.test_topk", "TestTopKKernel.test_topk_unit", lnc_degree=2, K=256, **topk),
        _case("topk/unsorted", "core.topk.test_topk", "TestTopKKernel.test_topk_unsorted", lnc_degree=2, K=64,
              **topk),
        _case("find_nonzero_indices", finds, "TestFindNonzeroIndicesKernel.test_find_nonzero_indices_fast",
              T=512, E=8, top_k=2, chunk_size=512, in_dtype="nl.int32"),
        _case("find_nonzero_indices/offset", finds,
              "TestFindNonzeroIndicesKernel.test_find_nonzero_indices_with_col_start_fast",
              T=512, E=16, top_k=2, E_offset=4, E_local=4, chunk_size=512, in_dtype="nl.float32"),
        _case("find_nonzero_indices_with_count", "experimental.benchmark.test_find_nonzero_indices_with_count",
              "TestFindNonzeroIndicesWithCountKernel.test_find_nonzero_indices_unit", T=512, pct_nonzero=0.5),
        _case("indexed_flatten", flatten, "TestIndexedFlattenKernel.test_indexed_flatten_fast", 1),
        _case("indexed_flatten/rows", flatten,
              "TestIndexedFlattenKernel.test_indexed_flatten_row_offsets_start", 0),
    )


def _views() -> tuple[Case, ...]:
    module = "core.utils.test_tensor_view"
    return (
        _case("tensor_view/dynamic_select", module, "TestDynamicTensorView.test_dynamic_select", 1),
        _case("cross_partition_copy", "core.utils.test_cross_partition_copy",
              "TestCrossPartitionCopy.test_cross_partition_copy", 1),
    )


def _rest() -> tuple[Case, ...]:
    rope_hf = {"batch_size": 1, "num_q_heads": 4, "num_kv_heads": 2, "seq_len": 256, "head_dim": 64}
    conv, convs = "experimental.conv.test_conv1d", "TestConv1DKernel.test_conv1d_basic"
    loss = {"B": 1, "T": 16, "V": 2048, "dtype": "float32", "PB": 16, "CS": 1024}
    return (
        _case("cumsum", "core.cumsum.test_cumsum", "TestCumsumKernel.test_cumsum_fast",
              batch=64, hidden=1024, ndim=3, seq_len=2, dtype="ml_dtypes.bfloat16"),
        _case("cumsum/float32", "core.cumsum.test_cumsum", "TestCumsumKernel.test_cumsum_fast",
              batch=1, hidden=256, ndim=2, seq_len=1, dtype="np.float32"),
        _case("rope", "core.embeddings.test_rope", "TestRopeKernel.test_rope_fast", d_head=64, B=2, n_heads=4,
              S=32, contiguous_layout=True, relayout_in_sbuf=False),
        _case("rope/interleaved", "core.embeddings.test_rope", "TestRopeKernel.test_rope_fast", d_head=128, B=1,
              n_heads=2, S=16, contiguous_layout=False, relayout_in_sbuf=True),
        _case("rope_hf", "core.embeddings.test_rope_hf", "TestRopeHFKernel.test_rope_hf_lnc",
              dtype="nl.bfloat16", backward=False, lnc_count=1, **rope_hf),
        _case("rope_hf/backward_lnc2", "core.embeddings.test_rope_hf", "TestRopeHFKernel.test_rope_hf_lnc",
              dtype="nl.float32", backward=True, lnc_count=2, **rope_hf),
        _case("conv1d", conv, convs, 0),
        _case("conv1d/silu", conv, convs, 1),
        _case("depthwise_conv1d", "experimental.conv.test_depthwise_conv1d",
              "TestDepthwiseConv1d.test_depthwise_conv1d_all", 0),
        _case("dynamic_elementwise_add", "experimental.dynamic_shapes.test_dynamic_elementwise_add",
              "TestDynamicElementwiseAdd.test_dynamic_elementwise_add_fast", m_dim=256, h_dim=512),
        _case("cross_entropy/forward", "experimental.loss.test_cross_entropy_forward",
              "TestCrossEntropyForwardSweep.prepare_test_parametrized", lnc=1, tensors={"ce_config": loss}),
        _case("cross_entropy/backward", "experimental.loss.test_cross_entropy_backward",
              "TestCrossEntropyBackwardSweep.prepare_test_parametrized", lnc=1,
              tensors={"ce_config": {**loss, "dtype": "bfloat16"}}),
    )


CASES: Final[tuple[Case, ...]] = (
    *_attention(),
    *_attention_tkg(),
    *_masks(),
    *_projections(),
    *_experts(),
    *_norms(),
    *_searches(),
    *_views(),
    *_rest(),
)
