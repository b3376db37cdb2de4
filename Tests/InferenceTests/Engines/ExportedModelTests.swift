import Dispatch
internal import EngineImporters
internal import EngineOpenVINO
import Foundation
import Inference
import SystemSupport
import TestSupport
import Testing

/// Models that are compiled into the cache are loaded without reading their files, and give the same answers.
@Suite(.timeLimit(.minutes(5))) struct ExportedModelTests {
    private static let root = SharedData.packageRoot

    /// One model of each format: the path of the files to copy.
    private static let models = [
        "models/digits/digits.onnx", "Tests/Fixtures/exports/yolo_classify_openvino/model.xml",
        "Tests/Fixtures/exports/saved_model_softmax",
        "Tests/Fixtures/observations/ssd_fast_without_background/model.tflite",
        "Tests/Fixtures/integer-weights/mobilenet.tflite",
    ]

    /// A copy of a model, and a folder for its compiled form.
    private struct Place {
        let folder = URL(filePath: NSTemporaryDirectory()).appendingPathComponent("exported-\(UUID())")
        let model: String
        private let shapes: [Int: Shape]
        var cache: String { folder.appendingPathComponent("cache").path }

        init(_ path: String) throws {
            let source = ExportedModelTests.root.appendingPathComponent(path)
            let copies = folder.appendingPathComponent("model")
            try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: true)
            model = copies.appendingPathComponent(source.lastPathComponent).path
            shapes = try Self.shapes(source.path)
            try FileManager.default.createDirectory(atPath: cache, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: source.path, toPath: model)
            if path.hasSuffix(".xml") {
                let weights = source.deletingPathExtension().appendingPathExtension("bin")
                try FileManager.default.copyItem(
                    atPath: weights.path, toPath: copies.appendingPathComponent(weights.lastPathComponent).path)
            }
        }

        private static func shapes(_ path: String) throws -> [Int: Shape] {
            let inputs = try DefaultEngine.shared().read(ModelSource(path: path)).inputs
            return Dictionary(
                uniqueKeysWithValues: inputs.enumerated().filter { !$0.element.shape.isStatic }.map {
                    ($0.offset, Shape($0.element.shape.dimensions.map { max(1, $0) }))
                })
        }

        var blobs: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: cache).filter { $0.hasSuffix(".blob") }.sorted()
            }
        }

        /// The only compiled model.
        var blob: String { get throws { cache + "/" + (try #require(try blobs.first)) } }

        func read(cached: Bool = true) throws -> any ModelFile {
            var source = ModelSource(path: model)
            source.allowsIntegerWeights = true
            source.cacheFolder = cached ? cache : nil
            return try DefaultEngine.shared().read(source)
        }

        func options(cached: Bool = true, threads: Int = 1, hint: PerformanceHint = .throughput) -> CompileOptions {
            var options = CompileOptions()
            options.cacheDirectory = cached ? cache : nil
            options.threads = threads
            options.streams = 1
            options.hint = hint
            // Open axes get the extent 1.
            options.inputShapes = shapes
            return options
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    /// All outputs for inputs that are a pattern of bytes, or of numbers from 0 to 1.
    private func outputs(_ model: any CompiledModel) throws -> [[UInt8]] {
        let request = try model.makeRequest()
        for (index, port) in model.inputs.enumerated() {
            let shape = Shape(port.shape.dimensions.map { max(1, $0) })
            let tensor = try model.makeTensor(elementType: port.elementType, shape: shape)
            if port.elementType == .float32 {
                let values = tensor.bytes.bindMemory(to: Float.self)
                for element in values.indices { values[element] = Float(element * 37 % 251) / 251 }
            } else {
                for byte in tensor.bytes.indices { tensor.bytes[byte] = UInt8(truncatingIfNeeded: byte * 37) }
            }
            try request.setInput(index, to: tensor)
        }
        let done = DispatchSemaphore(value: 0)
        try request.start { done.signal() }
        done.wait()
        try request.finish()
        return try model.outputs.indices.map { index in try request.withOutput(index) { _, bytes in [UInt8](bytes) } }
    }

    private func isExported(_ file: any ModelFile) -> Bool {
        ((file as? DetectionModelFile)?.base ?? file) is ExportedModelFile
    }

    @Test("the second load of a model comes from the cache and gives the same ports and outputs", arguments: models)
    func secondLoadsDoNotReadTheFile(_ path: String) throws {
        let place = try Place(path)
        defer { place.remove() }
        let plain = try place.read(cached: false)
        let expected = try outputs(plain.compile(place.options(cached: false)))
        #expect(try place.blobs.isEmpty)

        let first = try place.read()
        #expect(!isExported(first))
        let compiled = try first.compile(place.options())
        #expect(!compiled.loadedFromCache)
        #expect(try outputs(compiled) == expected)
        #expect(try place.blobs.count == 1)

        let second = try place.read()
        // This detector has inner shapes that are known only when it runs: OpenVINO's own cache stores it.
        #expect(isExported(second) != path.contains("ssd_"))
        #expect(second.inputs == plain.inputs && second.outputs == plain.outputs)
        #expect(second.integerWeights == plain.integerWeights)
        let imported = try second.compile(place.options(threads: 2, hint: .latency))
        #expect(imported.loadedFromCache)
        #expect(imported.inputs == compiled.inputs && imported.outputs == compiled.outputs)
        #expect(imported.execution.threads == 2 && imported.execution.hint == "LATENCY")
        #expect(imported.execution.precision == compiled.execution.precision)
        #expect(try outputs(imported) == expected)
        #expect(try place.blobs.count == 1)
    }

    @Test("another precision or another input shape is compiled and cached separately")
    func otherPrecisionsAndShapesAreCompiledThemselves() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        var options = place.options()
        options.precision = .engine
        #expect(try !place.read().compile(options).loadedFromCache)
        #expect(try place.blobs.count == 2)
        #expect(try place.read().compile(options).loadedFromCache)
        var batch = place.options()
        let shape = try #require(try place.read().inputs.first?.shape)
        batch.inputShapes = [0: Shape([2] + shape.dimensions.dropFirst())]
        let two = try place.read().compile(batch)
        #expect(!two.loadedFromCache && two.inputs[0].shape.dimensions.first == 2)
        let again = try place.read().compile(batch)
        #expect(again.loadedFromCache && again.inputs == two.inputs)
        #expect(try place.blobs.count == 3)
    }

    @Test("a cached model finds tensor names that were not looked up before the export")
    func namesThatWereNotAskedForAreLookedUpInTheFile() throws {
        let place = try Place("Tests/Fixtures/tensorio/tensorflow-batch-of-pictures.tiobundle/predict")
        defer { place.remove() }
        let plain = try place.read(cached: false)
        let names = ["serving_default_image", "serving_default_image:0", "serving_default_image_key", "nothing"]
        let expected = names.map { plain.inputIndex(named: $0) }
        try #require(expected.contains(0))
        let first = try place.read()
        _ = first.inputIndex(named: names[0])
        _ = try first.compile(place.options())
        let second = try place.read()
        #expect(isExported(second))
        #expect(names.map { second.inputIndex(named: $0) } == expected)
        #expect(second.outputIndex(named: "dense/Sigmoid") == plain.outputIndex(named: "dense/Sigmoid"))
    }

    /// The file is truncated in steps, and bytes in all parts are changed: the model is compiled again, and the file is
    /// complete afterwards.
    @Test("a cut or damaged file in the cache is compiled again and replaced")
    func damagedFilesAreReplaced() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        let compiled = try place.read().compile(place.options())
        let expected = try outputs(compiled)
        let path = try place.blob
        let whole = try Data(contentsOf: URL(filePath: path))
        var damaged = [Data(), Data(whole.prefix(16)), Data(count: whole.count), whole + Data(count: 3)]
        for part in 1..<8 { damaged.append(whole.prefix(whole.count * part / 8)) }
        for part in 0..<24 {
            var copy = whole
            copy[copy.count * part / 24] ^= 0x40
            damaged.append(copy)
        }
        for back in 1...16 {
            var copy = whole
            copy[copy.count - back] ^= 0x81
            damaged.append(copy)
        }
        for data in LongTests.every(4, of: damaged) {
            try data.write(to: URL(filePath: path), options: .atomic)
            let model = try place.read().compile(place.options())
            #expect(!model.loadedFromCache)
            #expect(try outputs(model) == expected)
            #expect(try place.read().compile(place.options()).loadedFromCache)
        }
    }

    /// The parts of a compiled model's file (`ExportedModel`).
    private struct Parts {
        var engine: Data
        var json: Data
        private let name: String

        init(_ path: String) throws {
            let whole = try Data(contentsOf: URL(filePath: path))
            let length = whole.suffix(16).prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            try #require(length > 100 && length < 10_000)
            json = Data(whole.dropLast(48).suffix(length))
            engine = Data(whole.dropLast(48 + length))
            name = String(URL(filePath: path).lastPathComponent.prefix(32))
        }

        /// The file with correct checksums.
        func sealed() throws -> Data {
            var hash = ContentHash(), seal = ContentHash()
            engine.withUnsafeBytes { hash.add(contents: $0) }
            var members = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
            members["bytes"] = engine.count
            members["hash"] = hash.text
            let text = try JSONSerialization.data(withJSONObject: members)
            seal.add(name)
            text.withUnsafeBytes { seal.add(contents: $0) }
            let length = Data((0..<8).map { UInt8(truncatingIfNeeded: text.count >> (8 * $0)) })
            return engine + text + Data(seal.text.utf8) + length + Data("OCELLI02".utf8)
        }
    }

    @Test("a cached model with any one bit of its description flipped is not used")
    func damagedDescriptionsAreNotBelieved() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let path = try place.blob
        let start = try Parts(path).engine.count
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        defer { try? file.close() }
        let size = Int(try file.seekToEnd())
        for position in start..<size {
            try file.seek(toOffset: UInt64(position))
            let byte = try #require(try file.read(upToCount: 1)?.first)
            for bits in [byte ^ 1, byte] {
                try file.seek(toOffset: UInt64(position))
                try file.write(contentsOf: Data([bits]))
                if bits != byte { #expect(!isExported(try place.read()), "byte \(position - start)") }
            }
        }
        #expect(isExported(try place.read()))
    }

    @Test("a cached model whose description names an input that does not exist is not used")
    func descriptionsNameKnownPorts() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let path = try place.blob
        var parts = try Parts(path)
        try parts.sealed().write(to: URL(filePath: path))
        #expect(isExported(try place.read()))
        let text = String(decoding: parts.json, as: UTF8.self)
        for index in [-1, 1, 1000] {
            parts.json = Data(text.replacing("\"inputNames\":{}", with: "\"inputNames\":{\"x\":\(index)}").utf8)
            try #require(parts.json.count > text.utf8.count)
            try parts.sealed().write(to: URL(filePath: path))
            #expect(!isExported(try place.read()))
        }
    }

    @Test("a cached model with extra bytes between the engine's data and the description is not used")
    func bytesBetweenTheEnginesAndTheDescriptionAreRefused() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let path = try place.blob
        let parts = try Parts(path)
        let file = try parts.sealed()
        let longer = file.prefix(parts.engine.count) + Data(count: 3) + file.dropFirst(parts.engine.count)
        try longer.write(to: URL(filePath: path))
        #expect(!isExported(try place.read()))
        try file.write(to: URL(filePath: path))
        #expect(isExported(try place.read()))
    }

    /// The file that the engine leaves if the disk was full during the write and had space again shortly after: it
    /// writes its header last.
    @Test("a cached model whose engine data was only partly written is compiled again")
    func halvesOfModelsAreCompiledAgain() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        let expected = try outputs(place.read().compile(place.options()))
        let path = try place.blob
        let whole = try Parts(path)
        for part in 0...4 {
            var half = whole
            half.engine = Data(count: min(48, whole.engine.count)) + whole.engine.dropFirst(48)
            half.engine = half.engine.prefix(whole.engine.count * part / 4)
            try half.sealed().write(to: URL(filePath: path), options: .atomic)
            let model = try place.read().compile(place.options())
            #expect(!model.loadedFromCache)
            #expect(try outputs(model) == expected)
            #expect(try place.read().compile(place.options()).loadedFromCache)
        }
    }

    @Test("the cached file of another model, copied under this model's name, is not used")
    func anotherModelsFileIsNotTaken() throws {
        let place = try Place(Self.models[0]), other = try Place(Self.models[1])
        defer {
            place.remove()
            other.remove()
        }
        _ = try place.read().compile(place.options())
        _ = try other.read().compile(other.options())
        let path = try place.blob
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: other.blob, toPath: path)
        let file = try place.read()
        #expect(!isExported(file))
        #expect(try file.inputs == place.read(cached: false).inputs)
    }

    /// Opening a FIFO waits for its other end.
    @Test("a FIFO in the place of a cached model is replaced by the compiled model")
    func pipesAreReplaced() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let path = try place.blob
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        #expect(try !place.read().compile(place.options()).loadedFromCache)
        #expect(try place.read().compile(place.options()).loadedFromCache)
    }

    /// Volumes do not update access times, or only once a day.
    @Test("a load from the cache marks the file as used, so that pruning removes other files first")
    func usesCountForTheOrderOfRemoval() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let path = try place.blob
        let old = timeval(tv_sec: 1_000_000, tv_usec: 0)
        // An access time after all changes: relatime does not update it.
        let start = time(nil)
        try #require(utimes(path, [timeval(tv_sec: start + 1, tv_usec: 0), old]) == 0)
        let other = place.cache + "/other.blob"
        try Data(count: 1000).write(to: URL(filePath: other))
        let later = timeval(tv_sec: start + 2, tv_usec: 0)
        try #require(utimes(other, [later, later]) == 0)
        while time(nil) < start + 3 { usleep(100_000) }
        #expect(try place.read().compile(place.options()).loadedFromCache)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mtim.tv_sec == old.tv_sec)
        CompiledModelCache.prune(place.cache, to: Int(status.st_size) + 999)
        #expect(try place.blobs.count == 1 && !FileManager.default.fileExists(atPath: other))
    }

    /// Two processors may have the same name: a virtual machine may hide instructions.
    @Test("a cached model is tied to the versions of Ocelli and OpenVINO and to the processor's instructions")
    func versionsAndProcessorsHaveTheirOwn() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        _ = try place.read().compile(place.options())
        let json = try #require(try JSONSerialization.jsonObject(with: Parts(place.blob).json) as? [String: Any])
        let compilation = try #require(json["compilation"] as? String)
        #expect(compilation.hasSuffix("extensions \(Processor.instructions)"), "\(compilation)")
        let engine = try OpenVINOEngine.shared().version
        func names(_ ocelli: String, _ engine: String) -> [String] {
            ["exact", "the processor has no VNNI"].compactMap { integers in
                ExportKey(path: place.model, folder: "", circumstances: "\(ocelli)\n\(engine)\n\(integers)")?.name
            }
        }
        let path = try place.blob
        let name = String(URL(filePath: path).lastPathComponent.prefix(32))
        #expect(names(OcelliVersion.number, engine).contains(name))
        for others in [names(OcelliVersion.number + "1", engine), names(OcelliVersion.number, engine + "1")] {
            #expect(others.count == 2 && !others.contains(name))
        }
        // A file of equal contents, from a processor with other instructions.
        #expect(try place.read().compile(place.options()).loadedFromCache)
        var parts = try Parts(path)
        let own = "extensions \(Processor.instructions)", text = String(decoding: parts.json, as: UTF8.self)
        try #require(text.contains(own))
        parts.json = Data(text.replacing(own, with: "extensions of another").utf8)
        try parts.sealed().write(to: URL(filePath: path))
        #expect(isExported(try place.read()), "its ports are known all the same")
        #expect(try !place.read().compile(place.options()).loadedFromCache)
    }

    @Test("a cache key covers the contents of all files of a model, and is absent if a file is missing")
    func keysAreTheContentsOfAllFiles() throws {
        func key(_ path: String, _ circumstances: String = "") -> String? {
            ExportKey(path: path, folder: "/cache", circumstances: circumstances)?.name
        }
        let model = try Place(Self.models[1]), copy = try Place(Self.models[1])
        defer {
            model.remove()
            copy.remove()
        }
        let name = try #require(key(model.model))
        #expect(name == key(copy.model), "the same contents elsewhere")
        #expect(name != key(model.model, "another engine"))
        let weights = URL(filePath: model.model).deletingPathExtension().appendingPathExtension("bin")
        var bytes = try Data(contentsOf: weights)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: weights)
        #expect(name != key(model.model))
        try FileManager.default.removeItem(at: weights)
        #expect(key(model.model) == nil)

        let folder = try Place(Self.models[2])
        defer { folder.remove() }
        let saved = try #require(key(folder.model))
        let variables = folder.model + "/variables", elsewhere = folder.folder.path + "/elsewhere"
        try Data("x".utf8).write(to: URL(filePath: variables + "/more"))
        #expect(key(folder.model) != saved)
        try FileManager.default.moveItem(atPath: variables, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: variables, withDestinationPath: elsewhere)
        #expect(key(folder.model) == nil, "what is behind a link to a folder is not looked at")

        // StringStringEntryProto of external_data: key "location", value "weights".
        let external = folder.folder.path + "/external.onnx"
        for padding in [0, 262_130, 262_143, 262_144, 524_280] {
            try
                (Data(count: padding) + Data([0x0A, 8]) + Data("location".utf8) + Data([0x12, 7]) + Data("weights".utf8))
                .write(to: URL(filePath: external))
            #expect(key(external) == nil, "\(padding)")
        }
        try Data("the location".utf8).write(to: URL(filePath: external))
        #expect(key(external) != nil)
        #expect(key(folder.folder.path + "/nothing.onnx") == nil && key("/dev/zero") == nil)
    }

    @Test("a content hash is the same from a file and from memory, and differs for other bytes")
    func sumsDoNotDependOnHowBytesAreRead() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path + "/file"
        var seen: Set<String> = []
        var generator = SplitMix(seed: SplitMix.seed(for: "sumsDoNotDependOnHowBytesAreRead"))
        for count in [0, 1, 7, 8, 9, 63, 64, 65, 262_143, 262_144, 262_145, 600_001] {
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try Data(bytes).write(to: URL(filePath: path))
            var file = ContentHash(), memory = ContentHash()
            let wasRead = file.add(file: path)
            #expect(wasRead)
            bytes.withUnsafeBytes { memory.add(contents: $0) }
            #expect(file.text == memory.text && file.text.count == 32, "\(count)")
            #expect(seen.insert(file.text).inserted)
            for place in Set([0, count / 2, count - 1]) where bytes.indices.contains(place) {
                bytes[place] ^= 1
                var changed = ContentHash()
                bytes.withUnsafeBytes { changed.add(contents: $0) }
                #expect(seen.insert(changed.text).inserted, "\(place) of \(count)")
            }
        }
        // With a single byte the hash might have been equal by chance above.
        for count in 2..<40 {
            var zeros = ContentHash()
            [UInt8](repeating: 0, count: count).withUnsafeBytes { zeros.add(contents: $0) }
            #expect(seen.insert(zeros.text).inserted, "\(count) zeros")
        }
        var one = ContentHash(), two = ContentHash()
        one.add("ab")
        one.add("c")
        two.add("a")
        two.add("bc")
        #expect(one.text != two.text)
    }

    @Test("pruning removes unfinished exports older than an hour, and no other files")
    func halfWrittenFilesGoAfterAnHour() throws {
        let folder = try TemporaryFolder()
        try folder.write([".export-1-2": "old", ".export-3-4": "new", "a.blob": "whole", ".other": "not ours"])
        let old = folder.url.path + "/.export-1-2"
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -4000)], ofItemAtPath: old)
        CompiledModelCache.prune(folder.url.path, to: 1 << 20)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        #expect(left == [".export-3-4", ".other", "a.blob"])
    }

    /// A cache that is not writable stores nothing, and the model is served nevertheless.
    @Test("a cache folder that cannot be written to does not stop a model from being compiled")
    func unwritableCachesKeepNothing() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        try FileManager.default.removeItem(atPath: place.cache)
        try Data().write(to: URL(filePath: place.cache))
        let expected = try outputs(place.read(cached: false).compile(place.options(cached: false)))
        #expect(try outputs(place.read().compile(place.options())) == expected)
    }
}
