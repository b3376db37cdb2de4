internal import COpenVINO
internal import EngineAPI
internal import FoundationEssentials
internal import Glibc

/// A compiled model in the cache: the engine's export, followed by the metadata of the model, so that its file need not
/// be read.
///
/// `KEY-COMPILATION.blob`: the engine's bytes, a ``Description`` in JSON, a ``ContentHash`` of the key and the JSON in
/// 32 digits, the JSON's length in eight bytes (little-endian), eight bytes that name the format. It is written under
/// another name and renamed when it is complete. The engine reads weights from the mapped file as long as the model
/// exists.
///
/// `@unchecked Sendable`: the members never change, and the memory is only read.
final class ExportedModel: @unchecked Sendable {
    /// The metadata of the model.
    struct Description: Codable, Sendable {
        struct Port: Codable, Sendable {
            let name: String
            let elementType: ElementType
            let shape: [Int]

            init(_ port: TensorPort) {
                (name, elementType, shape) = (port.name, port.elementType, port.shape.dimensions)
            }
            var port: TensorPort { TensorPort(name: name, elementType: elementType, shape: Shape(shape)) }
        }

        /// The ports of the file, and those of the compiled model, with the shapes that were set for the compilation.
        var inputs: [Port], outputs: [Port]
        var compiledInputs: [Port], compiledOutputs: [Port]
        /// The indices of tensors that were looked up by another of their names.
        var inputNames: [String: Int], outputNames: [String: Int]
        var integerWeights: IntegerWeights?
        /// All options and properties of the machine that the compiled model depends on, in addition to its file, as
        /// text.
        var compilation: String
        /// The length and the ``ContentHash`` of the engine's bytes.
        var bytes = 0
        var hash = ""

        var namesKnownPorts: Bool {
            inputNames.values.allSatisfy(inputs.indices.contains)
                && outputNames.values.allSatisfy(outputs.indices.contains)
        }
    }

    private static let format = Array("OCELLI02".utf8)
    private static let sealSize = 32
    /// The number of bytes after the JSON.
    private static let endSize = sealSize + 8 + 8
    /// The maximum length of the JSON; no description is longer.
    private static let longest = 16 << 20

    let description: Description
    /// The file, mapped into memory.
    private let start: UnsafeRawPointer, size: Int

    /// Any compiled model of these files; nil if the cache has none of them.
    static func any(_ key: ExportKey) -> ExportedModel? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: key.folder)) ?? []
        for name in names.sorted() where name.hasPrefix(key.name + "-") && name.hasSuffix(".blob") {
            if let exported = ExportedModel(path: key.folder + "/" + name, key: key) { return exported }
        }
        return nil
    }

    /// The model compiled from these files with these options; nil if the cache does not contain it, or the file is
    /// damaged.
    static func find(_ key: ExportKey, compilation: String) -> ExportedModel? {
        let path = path(key, compilation: compilation)
        guard let found = ExportedModel(path: path, key: key), found.description.compilation == compilation else {
            return nil
        }
        var hash = ContentHash()
        hash.add(contents: found.engineBytes)
        guard hash.text == found.description.hash else { return nil }
        noteUse(of: path)
        return found
    }

    /// Sets a file's access time, for ``CompiledModelCache/prune(_:to:)``: volumes mounted with noatime or relatime do
    /// not update it. Fails harmlessly if the cache is read-only.
    private static func noteUse(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        utimensat(AT_FDCWD, path, [timespec(tv_sec: time(nil), tv_nsec: 0), status.st_mtim], 0)
    }

    /// Maps a file; nil if it does not have this format, or has another key.
    private init?(path: String, key: ExportKey) {
        // Without O_NONBLOCK, opening a named pipe would wait for its other end.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > Self.endSize,
            let memory = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED
        else { return nil }
        let bytes = UnsafeRawBufferPointer(start: memory, count: Int(status.st_size))
        guard let description = Self.description(bytes, key) else {
            munmap(memory, bytes.count)
            return nil
        }
        self.description = description
        start = UnsafeRawPointer(memory)
        size = bytes.count
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: start), size) }

    private static func description(_ bytes: UnsafeRawBufferPointer, _ key: ExportKey) -> Description? {
        let end = bytes.count - endSize
        let length = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: end + sealSize, as: UInt64.self))
        guard bytes[(end + sealSize + 8)...].elementsEqual(format), length <= min(UInt64(longest), UInt64(end)) else {
            return nil
        }
        let start = end - Int(length)
        let json = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        guard bytes[end..<end + sealSize].elementsEqual(seal(json, key).utf8),
            let description = try? JSONDecoder().decode(Description.self, from: Data(json)),
            description.bytes == start, description.namesKnownPorts
        else { return nil }
        return description
    }

    /// A checksum of a model's description and its key.
    private static func seal(_ json: UnsafeRawBufferPointer, _ key: ExportKey) -> String {
        var hash = ContentHash()
        hash.add(key.name)
        hash.add(contents: json)
        return hash.text
    }

    private static func path(_ key: ExportKey, compilation: String) -> String {
        var hash = ContentHash()
        hash.add(compilation)
        return "\(key.folder)/\(key.name)-\(hash.text.prefix(16)).blob"
    }

    /// The bytes that the engine exported; valid during this object's lifetime.
    var engineBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: description.bytes) }

    /// Writes a compiled model. If the cache is not writable, nothing is stored, and
    /// ``CompiledModelCache/obstacle(_:seconds:bytes:)`` states the reason. Blocks.
    static func write(_ compiled: OpenVINOHandle, _ description: Description, for key: ExportKey) {
        let unfinished = "\(key.folder)/\(CompiledModelCache.unfinished)\(getpid())-\(UInt64.random(in: 0 ... .max))"
        guard ov_compiled_model_export_model(compiled.pointer, unfinished) == OK,
            append(description, key, to: unfinished),
            // A file that was replaced during the compilation must not be found under the key of its old contents.
            key.isCurrent,
            rename(unfinished, path(key, compilation: description.compilation)) == 0
        else {
            unlink(unfinished)
            return
        }
    }

    private static func append(_ description: Description, _ key: ExportKey, to path: String) -> Bool {
        var hash = ContentHash()
        var status = stat()
        guard hash.add(file: path), stat(path, &status) == 0 else { return false }
        var description = description
        description.bytes = Int(status.st_size)
        description.hash = hash.text
        let encoder = JSONEncoder()
        // Equal models must produce equal files, because images are built reproducibly.
        encoder.outputFormatting = .sortedKeys
        guard let json = try? encoder.encode(description) else { return false }
        var tail = Array(json)
        tail += json.withUnsafeBytes { seal($0, key) }.utf8
        tail += (0..<8).map { UInt8(truncatingIfNeeded: json.count >> (8 * $0)) } + format
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard tail.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == tail.count else {
            return false
        }
        // The engine does not report incomplete writes. If the volume has space left now, it had space then too.
        var volume = statvfs()
        return fstatvfs(descriptor, &volume) == 0 && volume.f_bavail &* UInt(volume.f_frsize) >= 1 << 20
    }
}
