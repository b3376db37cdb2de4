import Inference
import Testing

/// The precision that is requested from a device, given its capabilities: no processor is needed for this.
@Suite struct PrecisionTests {
    /// The capabilities of devices: with AVX-512 VNNI and without BF16, with both, and with AMX.
    private static let vnni = ["WINOGRAD", "FP32", "INT8", "BIN", "EXPORT_IMPORT"]
    private static let bf16 = ["WINOGRAD", "BF16", "FP32", "INT8", "BIN", "EXPORT_IMPORT"]
    private static let amx = ["WINOGRAD", "BF16", "FP16", "FP32", "INT8", "BIN", "EXPORT_IMPORT"]

    @Test(
        "bfloat16 or float16 becomes float32 on a device that lists its capabilities without the type",
        arguments: [
            (InferencePrecision.bfloat16, vnni, InferencePrecision.float32), (.bfloat16, bf16, .bfloat16),
            (.bfloat16, amx, .bfloat16), (.bfloat16, [], .bfloat16),
            (.float16, vnni, .float32), (.float16, bf16, .float32), (.float16, amx, .float16), (.float16, [], .float16),
            (.float32, vnni, .float32), (.float32, amx, .float32), (.engine, vnni, .engine), (.engine, amx, .engine),
        ])
    func onlyWhatTheDeviceHasIsAskedFor(
        asked: InferencePrecision, capabilities: [String], expected: InferencePrecision
    ) {
        #expect(asked.onDevice(with: capabilities) == expected)
    }
}
