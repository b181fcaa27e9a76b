/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver errors: names by number, and what each stands for in the search for a cause. */
#include "analysis/failure/rules/rules.h"

#include <string.h>

#include <stddef.h>
#include <stdint.h>

/* What an error speaks for. */
enum xid_way {
    XID_NONE,     /* asks for nothing */
    XID_FOLLOWS,  /* another error */
    XID_APP,      /* the program's fault, as a rule */
    XID_MEMORY,   /* the GPU's memory */
    XID_BUS,      /* the way to the GPU */
    XID_LINK,     /* NVLink */
    XID_GPU,      /* the GPU, to be reset */
    XID_FIRMWARE, /* firmware or driver */
    XID_SOFTWARE, /* versions */
    XID_OTHER     /* unusual */
};

struct xid {
    int16_t code;
    uint8_t way; /* enum xid_way */
    const char *name;
};

static const struct xid table[] = {
    {1, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_FIFO_METHOD"},
    {2, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_SW_METHOD"},
    {3, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_UNK_METHOD"},
    {4, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_CHANNEL_BUSY"},
    {5, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_RUNOUT_OVERFLOW"},
    {6, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_PARSE_ERR"},
    {7, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_PTE_ERR"},
    {8, XID_APP, "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT"},
    {9, XID_OTHER, "ROBUST_CHANNEL_GR_ERROR_INSTANCE"},
    {10, XID_OTHER, "ROBUST_CHANNEL_GR_ERROR_SINGLE_STEP"},
    {11, XID_APP, "ROBUST_CHANNEL_GR_ERROR_MISSING_HW"},
    {12, XID_OTHER, "ROBUST_CHANNEL_GR_ERROR_SW_METHOD"},
    {13, XID_APP, "ROBUST_CHANNEL_GR_EXCEPTION"},
    {14, XID_NONE, "ROBUST_CHANNEL_FAKE_ERROR"},
    {15, XID_OTHER, "ROBUST_CHANNEL_SCANLINE_TIMEOUT"},
    {16, XID_OTHER, "ROBUST_CHANNEL_VBLANK_CALLBACK_TIMEOUT"},
    {17, XID_OTHER, "ROBUST_CHANNEL_PARAMETER_ERROR"},
    {18, XID_OTHER, "ROBUST_CHANNEL_BUS_MASTER_TIMEOUT_ERROR"},
    {19, XID_OTHER, "ROBUST_CHANNEL_DISP_MISSED_NOTIFIER"},
    {20, XID_OTHER, "ROBUST_CHANNEL_MPEG_ERROR_SW_METHOD"},
    {21, XID_OTHER, "ROBUST_CHANNEL_ME_ERROR_SW_METHOD"},
    {22, XID_OTHER, "ROBUST_CHANNEL_VP_ERROR_SW_METHOD"},
    {23, XID_OTHER, "ROBUST_CHANNEL_RC_LOGGING_ENABLED"},
    {24, XID_OTHER, "ROBUST_CHANNEL_GR_SEMAPHORE_TIMEOUT"},
    {25, XID_APP, "ROBUST_CHANNEL_GR_ILLEGAL_NOTIFY"},
    {26, XID_OTHER, "ROBUST_CHANNEL_FIFO_ERROR_FBISTATE_TIMEOUT"},
    {27, XID_OTHER, "ROBUST_CHANNEL_VP_ERROR"},
    {28, XID_OTHER, "ROBUST_CHANNEL_VP2_ERROR"},
    {29, XID_OTHER, "ROBUST_CHANNEL_BSP_ERROR"},
    {30, XID_OTHER, "ROBUST_CHANNEL_BAD_ADDR_ACCESS"},
    {31, XID_APP, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT"},
    {32, XID_APP, "ROBUST_CHANNEL_PBDMA_ERROR"},
    {33, XID_OTHER, "ROBUST_CHANNEL_SEC_ERROR"},
    {34, XID_OTHER, "ROBUST_CHANNEL_MSVLD_ERROR"},
    {35, XID_OTHER, "ROBUST_CHANNEL_MSPDEC_ERROR"},
    {36, XID_OTHER, "ROBUST_CHANNEL_MSPPP_ERROR"},
    {37, XID_NONE, "ROBUST_CHANNEL_FECS_ERR_UNIMP_FIRMWARE_METHOD"},
    {38, XID_NONE, "ROBUST_CHANNEL_FECS_ERR_WATCHDOG_TIMEOUT"},
    {39, XID_APP, "ROBUST_CHANNEL_CE0_ERROR"},
    {40, XID_APP, "ROBUST_CHANNEL_CE1_ERROR"},
    {41, XID_APP, "ROBUST_CHANNEL_CE2_ERROR"},
    {42, XID_OTHER, "ROBUST_CHANNEL_VIC_ERROR"},
    {43, XID_FOLLOWS, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR"},
    {44, XID_NONE, "ROBUST_CHANNEL_GR_FAULT_DURING_CTXSW"},
    {45, XID_FOLLOWS, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL"},
    {46, XID_FIRMWARE, "ROBUST_CHANNEL_GPU_TIMEOUT_ERROR"},
    {47, XID_OTHER, "ROBUST_CHANNEL_NVENC0_ERROR"},
    {48, XID_MEMORY, "ROBUST_CHANNEL_GPU_ECC_DBE"},
    {49, XID_OTHER, "SILENT_RUNNING_CONSTANT_LEVEL_SET_BY_REGISTRY"},
    {50, XID_OTHER, "SILENT_RUNNING_LEVEL_TRANSITION_DUE_TO_RC_ERROR"},
    {51, XID_OTHER, "SILENT_RUNNING_STRESS_TEST_FAILURE"},
    {52, XID_OTHER, "SILENT_RUNNING_LEVEL_TRANS_DUE_TO_TEMP_RISE"},
    {53, XID_OTHER, "SILENT_RUNNING_TEMP_REDUCED_CLOCKING"},
    {54, XID_OTHER, "SILENT_RUNNING_PWR_REDUCED_CLOCKING"},
    {55, XID_OTHER, "SILENT_RUNNING_TEMPERATURE_READ_ERROR"},
    {56, XID_OTHER, "DISPLAY_CHANNEL_EXCEPTION"},
    {57, XID_MEMORY, "FB_LINK_TRAINING_FAILURE_ERROR"},
    {58, XID_MEMORY, "FB_MEMORY_ERROR"},
    {59, XID_OTHER, "PMU_ERROR"},
    {60, XID_APP, "ROBUST_CHANNEL_SEC2_ERROR"},
    {61, XID_FIRMWARE, "PMU_BREAKPOINT"},
    {62, XID_FIRMWARE, "PMU_HALT_ERROR"},
    {63, XID_NONE, "INFOROM_DRAM_RETIREMENT_EVENT"},
    {64, XID_MEMORY, "INFOROM_DRAM_RETIREMENT_FAILURE"},
    {65, XID_OTHER, "ROBUST_CHANNEL_NVENC1_ERROR"},
    {66, XID_NONE, "ROBUST_CHANNEL_FECS_ERR_REG_ACCESS_VIOLATION"},
    {67, XID_NONE, "ROBUST_CHANNEL_FECS_ERR_VERIF_VIOLATION"},
    {68, XID_APP, "ROBUST_CHANNEL_NVDEC0_ERROR"},
    {69, XID_APP, "ROBUST_CHANNEL_GR_CLASS_ERROR"},
    {70, XID_APP, "ROBUST_CHANNEL_CE3_ERROR"},
    {71, XID_APP, "ROBUST_CHANNEL_CE4_ERROR"},
    {72, XID_APP, "ROBUST_CHANNEL_CE5_ERROR"},
    {73, XID_OTHER, "ROBUST_CHANNEL_NVENC2_ERROR"},
    {74, XID_LINK, "NVLINK_ERROR"},
    {75, XID_APP, "ROBUST_CHANNEL_CE6_ERROR"},
    {76, XID_APP, "ROBUST_CHANNEL_CE7_ERROR"},
    {77, XID_APP, "ROBUST_CHANNEL_CE8_ERROR"},
    {78, XID_SOFTWARE, "VGPU_START_ERROR"},
    {79, XID_BUS, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS"},
    {80, XID_APP, "PBDMA_PUSHBUFFER_CRC_MISMATCH"},
    {81, XID_OTHER, "ROBUST_CHANNEL_VGA_SUBSYSTEM_ERROR"},
    {82, XID_APP, "ROBUST_CHANNEL_NVJPG0_ERROR"},
    {83, XID_APP, "ROBUST_CHANNEL_NVDEC1_ERROR"},
    {84, XID_APP, "ROBUST_CHANNEL_NVDEC2_ERROR"},
    {85, XID_APP, "ROBUST_CHANNEL_CE9_ERROR"},
    {86, XID_APP, "ROBUST_CHANNEL_OFA0_ERROR"},
    {87, XID_OTHER, "NVTELEMETRY_DRIVER_REPORT"},
    {88, XID_APP, "ROBUST_CHANNEL_NVDEC3_ERROR"},
    {89, XID_APP, "ROBUST_CHANNEL_NVDEC4_ERROR"},
    {90, XID_OTHER, "LTC_ERROR"},
    {91, XID_OTHER, "RESERVED_XID"},
    {92, XID_NONE, "EXCESSIVE_SBE_INTERRUPTS"},
    {93, XID_NONE, "INFOROM_ERASE_LIMIT_EXCEEDED"},
    {94, XID_MEMORY, "ROBUST_CHANNEL_CONTAINED_ERROR"},
    {95, XID_MEMORY, "ROBUST_CHANNEL_UNCONTAINED_ERROR"},
    {96, XID_APP, "ROBUST_CHANNEL_NVDEC5_ERROR"},
    {97, XID_APP, "ROBUST_CHANNEL_NVDEC6_ERROR"},
    {98, XID_APP, "ROBUST_CHANNEL_NVDEC7_ERROR"},
    {99, XID_APP, "ROBUST_CHANNEL_NVJPG1_ERROR"},
    {100, XID_APP, "ROBUST_CHANNEL_NVJPG2_ERROR"},
    {101, XID_APP, "ROBUST_CHANNEL_NVJPG3_ERROR"},
    {102, XID_APP, "ROBUST_CHANNEL_NVJPG4_ERROR"},
    {103, XID_APP, "ROBUST_CHANNEL_NVJPG5_ERROR"},
    {104, XID_APP, "ROBUST_CHANNEL_NVJPG6_ERROR"},
    {105, XID_APP, "ROBUST_CHANNEL_NVJPG7_ERROR"},
    {106, XID_NONE, "SMBPBI_TEST_MESSAGE"},
    {107, XID_NONE, "SMBPBI_TEST_MESSAGE_SILENT"},
    {108, XID_NONE, "NVLINK_REMOTE_TRANSLATION_ERROR"},
    {109, XID_FIRMWARE, "ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR"},
    {110, XID_FIRMWARE, "SEC_FAULT_ERROR"},
    {111, XID_OTHER, "BUNDLE_ERROR_EVENT"},
    {112, XID_OTHER, "DISP_SUPERVISOR_ERROR"},
    {113, XID_OTHER, "DP_LT_FAILURE"},
    {114, XID_OTHER, "HEAD_RG_UNDERFLOW"},
    {115, XID_OTHER, "CORE_CHANNEL_REGS"},
    {116, XID_OTHER, "WINDOW_CHANNEL_REGS"},
    {117, XID_OTHER, "CURSOR_CHANNEL_REGS"},
    {118, XID_OTHER, "HEAD_REGS"},
    {119, XID_FIRMWARE, "GSP_RPC_TIMEOUT"},
    {120, XID_FIRMWARE, "GSP_ERROR"},
    {121, XID_LINK, "C2C_ERROR"},
    {122, XID_OTHER, "SPI_PMU_RPC_READ_FAIL"},
    {123, XID_OTHER, "SPI_PMU_RPC_WRITE_FAIL"},
    {124, XID_OTHER, "SPI_PMU_RPC_ERASE_FAIL"},
    {125, XID_OTHER, "INFOROM_FS_ERROR"},
    {126, XID_APP, "ROBUST_CHANNEL_CE10_ERROR"},
    {127, XID_APP, "ROBUST_CHANNEL_CE11_ERROR"},
    {128, XID_APP, "ROBUST_CHANNEL_CE12_ERROR"},
    {129, XID_APP, "ROBUST_CHANNEL_CE13_ERROR"},
    {130, XID_APP, "ROBUST_CHANNEL_CE14_ERROR"},
    {131, XID_APP, "ROBUST_CHANNEL_CE15_ERROR"},
    {132, XID_APP, "ROBUST_CHANNEL_CE16_ERROR"},
    {133, XID_APP, "ROBUST_CHANNEL_CE17_ERROR"},
    {134, XID_APP, "ROBUST_CHANNEL_CE18_ERROR"},
    {135, XID_APP, "ROBUST_CHANNEL_CE19_ERROR"},
    {136, XID_LINK, "ALI_TRAINING_FAIL"},
    {137, XID_NONE, "NVLINK_PRIV_ERR"},
    {138, XID_OTHER, "ROBUST_CHANNEL_DLA_ERROR"},
    {139, XID_APP, "ROBUST_CHANNEL_OFA1_ERROR"},
    {140, XID_MEMORY, "UNRECOVERABLE_ECC_ERROR_ESCAPE"},
    {141, XID_NONE, "ROBUST_CHANNEL_FAST_PATH_ERROR"},
    {142, XID_OTHER, "ROBUST_CHANNEL_NVENC3_ERROR"},
    {143, XID_FIRMWARE, "GPU_INIT_ERROR"},
    {144, XID_LINK, "NVLINK_SAW_ERROR"},
    {145, XID_LINK, "NVLINK_RLW_ERROR"},
    {146, XID_LINK, "NVLINK_TLW_ERROR"},
    {147, XID_LINK, "NVLINK_TREX_ERROR"},
    {148, XID_LINK, "NVLINK_NVLPW_CTRL_ERROR"},
    {149, XID_LINK, "NVLINK_NETIR_ERROR"},
    {150, XID_LINK, "NVLINK_MSE_ERROR"},
    {151, XID_GPU, "ROBUST_CHANNEL_KEY_ROTATION_ERROR"},
    {152, XID_NONE, "ROBUST_CHANNEL_DLA_SMMU_ERROR"},
    {153, XID_NONE, "ROBUST_CHANNEL_DLA_TIMEOUT"},
    {154, XID_NONE, "GPU_RECOVERY_ACTION_CHANGED"},
    {155, XID_LINK, "NVLINK_SW_DEFINED_ERROR"},
    {156, XID_MEMORY, "RESOURCE_RETIREMENT_EVENT"},
    {157, XID_NONE, "RESOURCE_RETIREMENT_FAILURE"},
    {158, XID_FIRMWARE, "GPU_FATAL_TIMEOUT"},
    {159, XID_OTHER, "ROBUST_CHANNEL_CHI_NON_DATA_ERROR"},
    {160, XID_NONE, "CHANNEL_RETIREMENT_EVENT"},
    {161, XID_NONE, "CHANNEL_RETIREMENT_FAILURE"},
    {162, XID_NONE, "PSHC_REENGAGED"},
    {163, XID_NONE, "PSHC_DISENGAGED"},
    {164, XID_NONE, "PSHC_LOW_LIFETIME"},
    {165, XID_NONE, "PSHC_ZERO_LIFETIME"},
    {166, XID_LINK, "NVLINK_SECURE_CRYPTO_ERR"},
    {167, XID_NONE, "PCIE_FATAL_TIMEOUT"},
    {168, XID_NONE, "REDUCED_GPU_MEMORY_CAPACITY"},
    {169, XID_NONE, "SEC2_HALT_ERROR"},
    {170, XID_NONE, "NVLINK_SECURE_OTHER"},
    {171, XID_MEMORY, "UNCORRECTABLE_DRAM_ERROR"},
    {172, XID_MEMORY, "UNCORRECTABLE_SRAM_ERROR"},
};

static const struct xid *find(int64_t code)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == code) {
            return &table[i];
        }
    }
    return NULL;
}

const char *inq_xid_name(int64_t code)
{
    const struct xid *xid = find(code);
    return xid != NULL ? xid->name : "not in the catalog";
}

#define XID_ROW(role, cls, sub, weight, headline, advice)                                          \
    {                                                                                              \
        INQ_LOG_XID, -1, NULL, NULL, INQ_LOG_##role, INQ_FAILURE_##cls, sub, weight, headline,     \
            advice,                                                                                \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }

const struct inq_failure_rule *inq_xid_rule(int64_t code, const char *text)
{
    static const struct inq_failure_rule ways[] = {
        [XID_NONE] = XID_ROW(CONTEXT, UNKNOWN, "", 0, NULL, NULL),
        [XID_FOLLOWS] = XID_ROW(VICTIM, UNKNOWN, "", 0, NULL, NULL),
        [XID_APP] = XID_ROW(CAUSE, CUDA_ERROR, "", 72,
                            "{Who} reported {xid}, as a rule a fault of the program", NULL),
        [XID_MEMORY] =
            XID_ROW(CAUSE, GPU_HARDWARE, "memory", 95, "The memory of {who} failed: {xid}", NULL),
        [XID_BUS] = XID_ROW(CAUSE, GPU_HARDWARE, "bus", 96, "{Who} fell off the bus: {xid}", NULL),
        [XID_LINK] = XID_ROW(CAUSE, GPU_HARDWARE, "nvlink", 92, "NVLink failed on {who}: {xid}",
                             "Drain the node and test its NVLinks; reset the GPUs and their "
                             "fabric."),
        [XID_GPU] = XID_ROW(CAUSE, GPU_HARDWARE, "", 90, "{Who} failed: {xid}", NULL),
        [XID_FIRMWARE] = XID_ROW(CAUSE, DRIVER, "firmware", 91,
                                 "Driver or firmware of {who} failed: {xid}", NULL),
        [XID_SOFTWARE] = XID_ROW(CAUSE, DRIVER, "", 60, "The driver refused {who}: {xid}", NULL),
        [XID_OTHER] = XID_ROW(CAUSE, GPU_HARDWARE, "", 58, "{Who} reports {xid}", NULL),
    };
    /* The driver says itself that it went on: a warning, whatever the number. */
    static const struct inq_failure_rule passing =
        XID_ROW(CAUSE, GPU_HARDWARE, "nvlink", 40,
                "{Who} reports an error that the driver calls "
                "nonfatal: {xid}",
                "Watch this GPU's links; the driver calls the error nonfatal, and another cause "
                "is likelier.");
    const struct xid *xid = find(code);
    const struct inq_failure_rule *rule = &ways[xid != NULL ? xid->way : XID_OTHER];
    if (strstr(text, "NVLink: fatal error") != NULL) { /* its own words, whatever the number */
        rule = &ways[XID_LINK];
    }
    bool nonfatal = strstr(text, "onfatal") != NULL;
    return nonfatal && rule->role == INQ_LOG_CAUSE ? &passing : rule;
}
