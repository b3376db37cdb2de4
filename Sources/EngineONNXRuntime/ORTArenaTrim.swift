internal import CONNXRuntime
internal import EngineAPI
internal import FileFormats
internal import Synchronization

/// Returns free regions of the arena that all sessions share to the system. The C interface does so only at the end of
/// a run, when the run's outputs still hold their regions. This is therefore a run without allocations: a graph that
/// copies a number from one tensor to another.
///
/// Any thread may call it.
final class ORTArenaTrim: Sendable {
    private let session: ORTSession
    private let options: ORTHandle
    private let names = (input: CNames(["x"]), output: CNames(["y"]))
    /// The tensors, which one run at a time may use.
    private let tensors: Mutex<(input: ORTTensor, output: ORTTensor)>

    init(_ library: ORTLibrary) throws(EngineError) {
        session = try ORTSession(
            .bytes(Self.graph), provider: .cpu, threads: 1, library: library, optimizes: false)
        options = ORTHandle(try library.make("make a run's options") { ort_create_run_options(library.api, &$0) }) {
            ort_release_run_options(library.api, $0)
        }
        try library.check(
            "configure a run",
            ort_add_run_config(library.api, options.pointer, "memory.enable_memory_arena_shrinkage", "cpu:0"))
        let (input, output) = (
            try ORTTensor(library, elementType: .float32, shape: [1]),
            try ORTTensor(library, elementType: .float32, shape: [1])
        )
        input.bytes.storeBytes(of: 0, as: Float.self)
        tensors = Mutex((input, output))
    }

    /// Returns all regions that no tensor uses. Takes some microseconds, and the time of unmapping the regions.
    func callAsFunction() {
        let library = session.library
        tensors.withLock { tensors in
            var output: OpaquePointer? = tensors.output.value.pointer
            // After a failure the memory stays until the next call.
            _ = library.take(
                ort_run(
                    library.api, session.handle.pointer, options.pointer, names.input.pointers,
                    [tensors.input.value.pointer], 1, names.output.pointers, 1, &output))
        }
    }

    /// An ONNX file (onnx.proto3): y = Identity(x), both float32 [1].
    private static var graph: [UInt8] {
        typealias Writer = ProtobufWriter
        func value(_ name: String) -> [UInt8] {
            let extent = Writer.field(1, Writer.field(1, integer: 1))
            let tensor = Writer.field(1, integer: 1) + Writer.field(2, extent)
            return Writer.field(1, name) + Writer.field(2, Writer.field(1, tensor))
        }
        let node = Writer.field(1, "x") + Writer.field(2, "y") + Writer.field(4, "Identity")
        let graph =
            Writer.field(1, node) + Writer.field(2, "trim") + Writer.field(11, value("x"))
            + Writer.field(12, value("y"))
        return Writer.field(1, integer: 8) + Writer.field(7, graph) + Writer.field(8, Writer.field(2, integer: 13))
    }
}
