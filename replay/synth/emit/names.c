/* SPDX-License-Identifier: Apache-2.0 */
#include "synth/emit/names.h"

#define ELEMENTWISE(functor)                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor                       \
    ", at::detail::Array<char*, 2> >(int, at::native::" functor ", at::detail::Array<char*, 2>)"
#define MULTI_TENSOR(functor)                                                                      \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"               \
    "(anonymous namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::" functor    \
    "<float, 4> >(at::native::(anonymous namespace)::TensorListMetadata<4>)"

const struct synth_kernel_info inq_synth_kernels[SYNTH_KERNEL_COUNT] = {
    [SYNTH_LAYER_NORM] = {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<"
                          "c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
                          "aten::native_layer_norm", 4096, 128, 40, 24, false},
    [SYNTH_GEMM_QKV] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2"
                        "x1x1_execute_segment_k_off_kernel__5x_cublas",
                        "aten::addmm", 768, 384, 168, 213504, true},
    [SYNTH_FLASH_FORWARD] = {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>"
                             " >(flash::Flash_fwd_params)",
                             "aten::_flash_attention_forward", 512, 128, 255, 65536, true},
    [SYNTH_GEMM_PROJ] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize"
                         "1x1x1_execute_segment_k_off_kernel__5x_cublas",
                         "aten::addmm", 512, 256, 168, 180736, true},
    [SYNTH_ADD] = {ELEMENTWISE("CUDAFunctor_add<c10::BFloat16>"), "aten::add", 8192, 128, 32, 0,
                   false},
    [SYNTH_GEMM_FC1] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2"
                        "x1x1_execute_segment_k_off_kernel__5x_cublas",
                        "aten::addmm", 1024, 384, 168, 213504, true},
    [SYNTH_GELU] = {ELEMENTWISE("GeluCUDAKernelImpl"), "aten::gelu", 32768, 128, 32, 0, false},
    [SYNTH_GEMM_FC2] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2"
                        "x1x1_execute_split_k_kernel__5x_cublas",
                        "aten::addmm", 1024, 384, 168, 213504, true},
    [SYNTH_LAYER_NORM_BACKWARD] = {"void at::native::(anonymous namespace)::layer_norm_grad_input_"
                                   "kernel_vectorized<c10::BFloat16, float>(c10::BFloat16 const*)",
                                   "aten::native_layer_norm_backward", 4096, 128, 56, 32, false},
    [SYNTH_GELU_BACKWARD] = {ELEMENTWISE("GeluBackwardCUDAKernelImpl"), "aten::gelu_backward",
                             32768, 128, 40, 0, false},
    [SYNTH_GEMM_DGRAD] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x256x64_"
                          "warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
                          "aten::mm", 1024, 384, 168, 213504, true},
    [SYNTH_GEMM_WGRAD] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x256x64_"
                          "warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
                          "aten::mm", 1024, 384, 168, 213504, true},
    [SYNTH_FLASH_BACKWARD] = {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_"
                              "kernel_traits<128, 64, 128, 8> >(flash::Flash_bwd_params)",
                              "aten::_flash_attention_backward", 512, 256, 255, 147456, true},
    [SYNTH_EMBEDDING] = {"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::"
                         "BFloat16, long, unsigned int, 2, 2, -2, true>(long)",
                         "aten::embedding", 2112, 128, 32, 0, false},
    [SYNTH_EMBEDDING_BACKWARD] = {"void at::native::(anonymous namespace)::compute_grad_weight<"
                                  "c10::BFloat16, long>(long*, c10::BFloat16*)",
                                  "aten::embedding_dense_backward", 2048, 64, 40, 0, false},
    [SYNTH_GEMM_LOGITS] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_"
                           "warpgroupsize2x1x1_bias_execute_segment_k_off_kernel__5x_cublas",
                           "aten::linear", 6284, 384, 168, 213504, true},
    [SYNTH_SOFTMAX] = {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::"
                       "BFloat16, float, float, LogSoftMaxForwardEpilogue>(float*)",
                       "aten::_log_softmax", 4096, 1024, 40, 144, false},
    [SYNTH_SOFTMAX_BACKWARD] = {"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, "
                                "c10::BFloat16, float, float, LogSoftMaxBackwardEpilogue>(float*)",
                                "aten::_log_softmax_backward_data", 4096, 1024, 40, 144, false},
    [SYNTH_FILL] = {ELEMENTWISE("FillFunctor<c10::BFloat16>"), "aten::zero_", 2048, 128, 16, 0,
                    false},
    [SYNTH_L2_NORM] = {MULTI_TENSOR("LpNormFunctor"), "aten::_foreach_norm", 320, 512, 48, 128,
                       false},
    [SYNTH_ADAM] = {MULTI_TENSOR("FusedAdamMathFunctor"), "aten::_fused_adamw_", 320, 512, 64, 0,
                    false},
};
