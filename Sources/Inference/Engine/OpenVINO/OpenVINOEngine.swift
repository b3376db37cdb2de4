internal import COpenVINO
internal import CoreMLImport
internal import FileFormats
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// Runs models with OpenVINO, through its C API.
///
/// Sendable: it has one `ov_core_t`, which any thread may use. Reading and compiling block; call them on a thread
/// that may block.
public final class OpenVINOEngine: Engine {
    private let core: OpenVINOHandle
    /// The engine's build number.
    public let version: String

    private static let instance = Mutex<OpenVINOEngine?>(nil)

    /// The engine of this process: its plugins are loaded once.
    public static func shared() throws(EngineError) -> OpenVINOEngine {
        let result: Result<OpenVINOEngine, EngineError> = instance.withLock { instance in
            if let instance { return .success(instance) }
            do throws(EngineError) {
                let engine = try OpenVINOEngine()
                instance = engine
                return .success(engine)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Starts an engine.
    public init() throws(EngineError) {
        // OpenVINO looks for its plugins there too, and ends the process where it may not.
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

    /// Reads a model file in any format that OpenVINO reads, or a Core ML file. If the cache has the compiled model, its metadata is
    /// read from the cache.
    public func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        if CoreMLFile.isCoreML(source.path) { return try CoreMLReader(engine: self).read(source) }
        if let reason = Self.foreignContent(source.path) {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: "it \(reason)")
        }
        let key = exportKey(source)
        let bytes = TFLiteFile.bytes(source.path)
        let detection: DetectionOperator? = if let bytes { try TFLiteFile.detection(bytes) } else { nil }
        let split: SuppressionSplit? =
            if let bytes { try TFLiteFile.suppression(detection?.file ?? bytes) } else { nil }
        let cut = split?.front ?? detection?.file
        var file: any ModelFile
        if let key, let exported = ExportedModel.any(key) {
            file = ExportedModelFile(exported, key: key, engine: self) { () throws(EngineError) in
                try self.read(source, bytes: bytes, cut: cut, export: key)
            }
        } else {
            file = try read(source, bytes: bytes, cut: cut, export: key)
        }
        if let split { file = try joined(file, split, left: Self.mostSuppressions) }
        guard let detection else { return file }
        return try DetectionModelFile(file, detection: detection)
    }

    /// Content that is not a model (a web page, an archive, a Git LFS pointer), and what to do about it; nil if it may be one.
    private static func foreignContent(_ path: String) -> String? {
        // The engine reports a file that cannot be read.
        guard let file = try? OpenFile(path) else { return nil }
        let head = file.bytes(0..<ForeignFile.headSize)
        return head.isEmpty
            ? nil : ForeignFile.reason(head, isBinary: ModelFormat(file: path).map { !$0.mayBeText } ?? false)
    }

    private func exportKey(_ source: ModelSource) -> ExportKey? {
        guard let folder = source.cacheFolder else { return nil }
        let integers = source.allowsIntegerWeights ? inexactIntegers ?? "exact" : "unwanted"
        // Another version may write other weights into the files that the engine reads.
        return ExportKey(
            path: source.path, folder: folder, circumstances: "\(OcelliVersion.number)\n\(version)\n\(integers)")
    }

    /// A file may have several suppressions, one after another; each makes two models of one.
    private static let mostSuppressions = 8

    /// The model of a file that was split at its suppression. What is behind it may have another one.
    private func joined(
        _ front: any ModelFile, _ split: SuppressionSplit, left: Int
    ) throws(EngineError) -> any ModelFile {
        guard let bytes = split.back else {
            return try SuppressionModelFile(front: front, back: nil, split: split)
        }
        guard left > 1 else {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file",
                detail: "it has more than \(Self.mostSuppressions) NON_MAX_SUPPRESSION operators")
        }
        let next = try TFLiteFile.suppression(bytes)
        var back: any ModelFile = try readTemporary(next?.front ?? bytes, integerWeights: nil, export: nil)
        if let next { back = try joined(back, next, left: left - 1) }
        return try SuppressionModelFile(front: front, back: back, split: split)
    }

    /// Reads a file, and a TensorFlow Lite one in the form in which the engine gets it.
    /// - Parameter cut: a TensorFlow Lite file without the operators that are computed here.
    private func read(
        _ source: ModelSource, bytes: [UInt8]?, cut: [UInt8]?, export: ExportKey?
    ) throws(EngineError) -> OpenVINOModelFile {
        guard let bytes else { return try read(source.path, export: export) }
        let rewritten = source.allowsIntegerWeights ? IntegerWeightsWriter.rewriting(cut ?? bytes) : nil
        var (reason, export) = (inexactIntegers, export)
        if let rewritten, reason == nil {
            do throws(EngineError) {
                return try readTemporary(rewritten.file, integerWeights: rewritten.report, export: export)
            } catch {
                // Then it is read as it is, and its problems are those of that. Another day the file may be written.
                (reason, export) = (error.message, nil)
            }
        }
        let unused = rewritten?.report.unused(because: reason ?? "")
        guard let cut else { return try read(source.path, integerWeights: unused, export: export) }
        return try readTemporary(cut, integerWeights: unused, export: export)
    }

    /// Takes a compiled model from the cache.
    func importing(_ exported: ExportedModel, _ options: CompileOptions) throws(EngineError) -> OpenVINOCompiledModel {
        let threads = try OpenVINOThreads(for: options)
        // Properties can be set for all imports of a core alone, so this one has its own.
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
        return try OpenVINOCompiledModel(
            compiled, inputs: description.compiledInputs.map(\.port), outputs: description.compiledOutputs.map(\.port),
            isDynamic: false, shapes: nil, threads: threads, wasImported: true)
    }

    /// Everything that a compiled model depends on besides its file.
    func compilation(_ options: CompileOptions, inputs: [TensorPort]) -> String {
        core.compilation(options, inputs: inputs)
    }

    /// Why integer kernels do not give exact sums here; nil if they do.
    private var inexactIntegers: String? {
        // They name the instructions that are used, and may name ones that are not exact.
        for name in ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"] where getenv(name) != nil {
            return "the environment variable \(name) is set"
        }
        return Processor.addsByteProductsExactly ? nil : "the processor has no VNNI"
    }

    /// Says so where the engine's sums of byte products are cut off and the model has some.
    public func advice(on source: ModelSource, device: String) -> String? {
        guard device.contains("CPU"), let reason = ByteProducts.reasonWithoutVNNI else { return nil }
        return ByteProducts.advice(layers: ByteProducts.layers(of: source.path), because: reason)
    }

    /// OpenVINO reads TensorFlow Lite's files from disk alone.
    private func readTemporary(
        _ bytes: [UInt8], integerWeights: IntegerWeights?, export: ExportKey?
    ) throws(EngineError) -> OpenVINOModelFile {
        try TFLiteFile.withTemporaryFile(bytes) { (path) throws(EngineError) in
            try read(path, integerWeights: integerWeights, export: export)
        }
    }

    private func read(
        _ path: String, integerWeights: IntegerWeights? = nil, export: ExportKey?
    ) throws(EngineError) -> OpenVINOModelFile {
        let model = try EngineName.with(path) { (path) throws(EngineError) in
            try OpenVINOHandle.make("read the model file", kind: .invalidModel, free: ov_model_free) {
                ov_core_read_model(core.pointer, path, nil, &$0)
            }
        }
        return try OpenVINOModelFile(
            core: core, path: path, model: model, integerWeights: integerWeights, export: export)
    }

    /// Reads a model in OpenVINO's intermediate representation from memory.
    /// - Parameters:
    ///   - representation: the XML.
    ///   - weights: the bytes of the constants.
    ///   - write: writes the constants, into memory that is the model's from then on.
    func read(
        representation: [UInt8], weights: Int, write: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(EngineError) -> OpenVINOModelFile {
        let memory = try OpenVINOTensor(elementType: .uint8, shape: [max(1, weights)])
        write(memory.bytes)
        return try read(representation, weights: memory.handle, constants: nil)
    }

    /// Reads a model in OpenVINO's intermediate representation from memory, with its constants in a file.
    func read(representation: [UInt8], constants: ConstantsFile) throws(EngineError) -> OpenVINOModelFile {
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
    /// The capabilities of a device; none where the device does not report them. The handle must be a core's.
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
