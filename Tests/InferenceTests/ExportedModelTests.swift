import Dispatch
import Foundation
import Inference
import Testing

/// Models that the cache has compiled: they are loaded without their files being read, and answer as the files do.
@Suite(.timeLimit(.minutes(5))) struct ExportedModelTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A model of every kind of file: where it is, and what of it is copied.
    private static let models = [
        "models/digits/digits.onnx", "Tests/Fixtures/exports/yolo_classify_openvino/model.xml",
        "Tests/Fixtures/exports/saved_model_softmax",
        "Tests/Fixtures/observations/ssd_fast_without_background/model.tflite",
        "Tests/Fixtures/integer-weights/mobilenet.tflite",
    ]

    /// A copy of a model, and a folder for what is compiled of it.
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
            let inputs = try OpenVINOEngine.shared().read(ModelSource(path: path)).inputs
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

        func read(cached: Bool = true) throws -> any ModelFile {
            var source = ModelSource(path: model)
            source.allowsIntegerWeights = true
            source.cacheFolder = cached ? cache : nil
            return try OpenVINOEngine.shared().read(source)
        }

        func options(cached: Bool = true, threads: Int = 1, hint: PerformanceHint = .throughput) -> CompileOptions {
            var options = CompileOptions()
            options.cacheDirectory = cached ? cache : nil
            options.threads = threads
            options.streams = 1
            options.hint = hint
            // Axes that a file leaves open are one wide.
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

    @Test(arguments: models) func secondLoadsDoNotReadTheFile(_ path: String) throws {
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
        // The shapes within this detector are known only when it runs: the engine's own cache has it.
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

    @Test func otherPrecisionsAndShapesAreCompiledThemselves() throws {
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

    @Test func namesThatWereNotAskedForAreLookedUpInTheFile() throws {
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

    /// Every beginning of the file in steps, and bytes changed all over it: the model is compiled again, and the file is whole then.
    @Test func damagedFilesAreReplaced() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        let compiled = try place.read().compile(place.options())
        let expected = try outputs(compiled)
        let path = place.cache + "/" + (try #require(try place.blobs.first))
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
        for data in damaged {
            try data.write(to: URL(filePath: path), options: .atomic)
            let model = try place.read().compile(place.options())
            #expect(!model.loadedFromCache)
            #expect(try outputs(model) == expected)
            #expect(try place.read().compile(place.options()).loadedFromCache)
        }
    }

    @Test func keysAreTheContentsOfAllFiles() throws {
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

    @Test func sumsDoNotDependOnHowBytesAreRead() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path + "/file"
        var seen: Set<String> = []
        var generator = SystemRandomNumberGenerator()
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
        for count in 1..<40 {
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

    @Test func halfWrittenFilesGoAfterAnHour() throws {
        let folder = try TemporaryFolder()
        try folder.write([".export-1-2": "old", ".export-3-4": "new", "a.blob": "whole", ".other": "not ours"])
        let old = folder.url.path + "/.export-1-2"
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -4000)], ofItemAtPath: old)
        CompiledModelCache.prune(folder.url.path, to: 1 << 20)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        #expect(left == [".export-3-4", ".other", "a.blob"])
    }

    /// A cache that cannot be written keeps nothing, and the model is served all the same.
    @Test func unwritableCachesKeepNothing() throws {
        let place = try Place(Self.models[0])
        defer { place.remove() }
        try FileManager.default.removeItem(atPath: place.cache)
        try Data().write(to: URL(filePath: place.cache))
        let expected = try outputs(place.read(cached: false).compile(place.options(cached: false)))
        #expect(try outputs(place.read().compile(place.options())) == expected)
    }
}
