internal import COpenVINO
package import CoreMLImport
public import EngineAPI
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// Runs models with OpenVINO, through its C API.
///
/// Sendable: it has one `ov_core_t`, which any thread may use. Reading and compiling block; call them on a thread that
/// may block.
public final class OpenVINOEngine: ImportTarget {
    private let core: OpenVINOHandle
    /// The engine's build number.
    public let version: String

    private static let instance = Mutex<OpenVINOEngine?>(nil)

    /// The engine of this process: its plugins are loaded once.
    public static func shared() throws(EngineError) -> OpenVINOEngine {
        let result: Result<OpenVINOEngine, EngineError> = instance.withLock { instance in
            if let instance { return .success(instance) }
            return Result { () throws(EngineError) in
                let engine = try OpenVINOEngine()
                instance = engine
                return engine
            }
        }
        return try result.get()
    }

    /// Starts an engine.
    public init() throws(EngineError) {
        // OpenVINO also searches the current folder for its plugins, and terminates the process if it may not enter it.
        guard access(".", X_OK) == 0 || errno != EACCES else {
            throw EngineError(
                kind: .failure, operation: "start",
                detail: "this user cannot enter the current folder: change to another folder first, such as cd /")
        }
        core = try .make("start", free: ov_core_free) { ov_core_create(&$0) }
        var version = ov_version_t()
        try checked("tell its version") { ov_get_openvino_version(&version) }
        defer { ov_version_free(&version) }
        self.version = version.buildNumber.map { "OpenVINO " + String(cString: $0) } ?? "OpenVINO"
    }

    /// The devices that OpenVINO finds. Loads their plugins to read the names.
    public func availableDevices() throws(EngineError) -> [ComputeDevice] {
        var list = ov_available_devices_t()
        try checked("list its devices") { ov_core_get_available_devices(core.pointer, &list) }
        defer { ov_available_devices_free(&list) }
        var devices: [ComputeDevice] = []
        for index in 0..<list.size {
            guard let pointer = list.devices[index] else { continue }
            let name = String(cString: pointer)
            devices.append(
                ComputeDevice(
                    name: name,
                    fullName: core.property("FULL_DEVICE_NAME", of: name) ?? name,
                    capabilities: core.capabilities(of: name)))
        }
        return devices
    }

    /// Reads a model file in any format that OpenVINO itself supports. If the cache contains the compiled model, its
    /// metadata is read from the cache.
    public func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        try read(source) { (key) throws(EngineError) in
            try self.readFile(source.path, integerWeights: nil, key: key)
        }
    }

    package func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try OpenVINOTensor(elementType: elementType, shape: shape)
    }

    package func key(_ source: ModelSource) -> ExportKey? {
        guard let folder = source.cacheFolder else { return nil }
        let integers = source.allowsIntegerWeights ? inexactIntegers ?? "exact" : "unwanted"
        // Another version of Ocelli may write different weights into the files that the engine reads.
        return ExportKey(
            path: source.path, folder: folder, circumstances: "\(OcelliVersion.number)\n\(version)\n\(integers)")
    }

    package func cached(
        _ key: ExportKey, readFile: @escaping @Sendable () throws(EngineError) -> any ModelFile
    ) -> (any ModelFile)? {
        ExportedModel.any(key).map { ExportedModelFile($0, key: key, engine: self, readFile: readFile) }
    }

    /// Imports a compiled model from the cache.
    func importing(_ exported: ExportedModel, _ options: CompileOptions) throws(EngineError) -> OpenVINOCompiledModel {
        let threads = try OpenVINOThreads(for: options)
        // Properties can only be set for all imports of a core, so each import has its own core.
        let importer = try OpenVINOHandle.make("start", free: ov_core_free) { ov_core_create(&$0) }
        try checked("configure \(options.device)") {
            withProperties(core.properties(options)) {
                ov_core_set_properties(importer.pointer, options.device, $0.count, $0.baseAddress)
            }
        }
        let compiled = try OpenVINOHandle.make(
            "import the compiled model for \(options.device)", kind: .invalidModel, memory: exported,
            free: ov_compiled_model_free
        ) { pointer in
            let bytes = exported.engineBytes
            return ov_core_import_model(
                importer.pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count,
                options.device, &pointer)
        }
        threads.started()
        let description = exported.description
        // Models with shapes that are known only when they run are not exported.
        let network = OpenVINONetwork(compiled, isDynamic: false, threads: threads)
        return OpenVINOCompiledModel(
            network, inputs: description.compiledInputs.map(\.port), outputs: description.compiledOutputs.map(\.port),
            wasImported: true)
    }

    /// All options and properties of the machine that a compiled model depends on, in addition to its file.
    func compilation(_ options: CompileOptions, inputs: [TensorPort]) -> String {
        core.compilation(options, inputs: inputs)
    }

    /// The reason integer kernels do not compute exact sums on this machine; nil if they do.
    package var inexactIntegers: String? {
        // These variables limit the instruction sets, and may select one without exact sums.
        for name in ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"] where getenv(name) != nil {
            return "the environment variable \(name) is set"
        }
        return Processor.addsByteProductsExactly ? nil : "the processor has no VNNI"
    }

    package func reasonOfCutSums(on device: String) -> String? {
        device.contains("CPU") ? ByteProducts.reasonWithoutVNNI : nil
    }

    package func readFile(
        _ path: String, integerWeights: IntegerWeights?, key: ExportKey?
    ) throws(EngineError) -> any ModelFile {
        let model = try EngineName.with(path) { (path) throws(EngineError) in
            try OpenVINOHandle.make("read the model file", kind: .invalidModel, free: ov_model_free) {
                ov_core_read_model(core.pointer, path, nil, &$0)
            }
        }
        return try OpenVINOModelFile(core: core, path: path, model: model, integerWeights: integerWeights, export: key)
    }

    /// The minimum size in bytes of constants that are kept in a file while the model exists (``ConstantsFile``);
    /// smaller ones are in memory.
    private static let largeConstants = 32 << 20

    /// Reads a graph, in OpenVINO's intermediate representation.
    package func read(_ graph: Graph, folders: [String]) throws(EngineError) -> any ModelFile {
        var writer = IRWriter(graph)
        if writer.weightsSize >= Self.largeConstants {
            let folded = IRWriter(graph.folded())
            let constants = ConstantsFile(size: folded.weightsSize, folders: folders) {
                (write) throws(ConstantsFile.SystemFailure) in try folded.writeWeights(write)
            }
            if let constants { return try read(representation: folded.xml(), constants: constants) }
            writer = folded
        }
        return try read(representation: writer.xml(), weights: writer.weightsSize, write: writer.writeWeights)
    }

    /// Reads a model in OpenVINO's intermediate representation from memory.
    /// - Parameters:
    ///   - representation: the XML.
    ///   - weights: the number of bytes of the constants.
    ///   - write: writes the constants into memory that belongs to the model afterwards.
    private func read(
        representation: [UInt8], weights: Int, write: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(EngineError) -> OpenVINOModelFile {
        let memory = try OpenVINOTensor(elementType: .uint8, shape: [max(1, weights)])
        write(memory.bytes)
        return try read(representation, weights: memory.handle, constants: nil)
    }

    /// Reads a model in OpenVINO's intermediate representation from memory, with its constants in a file.
    private func read(representation: [UInt8], constants: ConstantsFile) throws(EngineError) -> OpenVINOModelFile {
        let tensor = try OpenVINOHandle.make("reach the constants", free: ov_tensor_free) { pointer in
            Shape([constants.size]).withOpenVINO {
                // The engine only reads constants.
                ov_tensor_create_from_host_ptr(
                    U8, $0, UnsafeMutableRawPointer(mutating: constants.start), &pointer)
            }
        }
        return try read(representation, weights: tensor, constants: constants)
    }

    private func read(
        _ representation: [UInt8], weights: OpenVINOHandle, constants: ConstantsFile?
    ) throws(EngineError) -> OpenVINOModelFile {
        let model = try OpenVINOHandle.make(
            "read the translated model", kind: .invalidModel, memory: constants, free: ov_model_free
        ) { pointer in
            representation.withUnsafeBytes { text in
                ov_core_read_model_from_memory_buffer(
                    core.pointer, text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count,
                    weights.pointer, &pointer)
            }
        }
        return try OpenVINOModelFile(core: core, path: "", model: model)
    }
}

extension OpenVINOHandle {
    /// The capabilities of a device; empty if the device does not report them. The handle must be a core's.
    func capabilities(of device: String) -> [String] {
        let text = property("OPTIMIZATION_CAPABILITIES", of: device) ?? ""
        return text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
    }

    func property(_ key: String, of device: String) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard ov_core_get_property(pointer, device, key, &value) == OK, let value else { return nil }
        defer { ov_free(value) }
        return String(cString: value)
    }
}
