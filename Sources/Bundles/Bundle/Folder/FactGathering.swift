internal import EngineAPI
internal import FileFormats
internal import FoundationEssentials
package import ModelFacts
internal import SystemSupport

/// The metadata of a model file and the files next to it, read from disk.
package struct GatheredFacts: Sendable {
    /// The facts of all sources merged.
    package var sheet = FactSheet()
    /// Labels in files next to the model, the most likely file first: the number of classes decides which one applies.
    package var labelFiles: [(file: String, labels: [String])] = []
    /// timm's configuration, which is interpreted again when the model's input is known.
    private var config: [UInt8]?
    private var sheets: [FactSheet] = []

    /// The maximum size of a configuration file in bytes.
    private static let largestConfiguration = 16 << 20

    /// No facts.
    init() {}

    /// Reads a model file and, for a folder, the files next to it. Blocks.
    /// - Parameters:
    ///   - model: the model file, or a SavedModel's folder.
    ///   - folder: the folder of the files next to it; nil for a bare file: its neighbours may not belong to it.
    init(model: String, folder: String?, layout: BundleLayout?) {
        let name = FilePath.name(of: model) ?? model
        if let folder, let layout {
            if let choice = layout.choice { note(layout.model, choice) }
            config = layout.config ? read(folder, "config.json") : nil
            if let file = layout.preprocessor, let text = read(folder, file) {
                sheets.append(HuggingFaceReader.preprocessor(text, config: config, source: file))
            }
            if let config { sheets.append(HuggingFaceReader.config(config)) }
            if layout.pooling, let text = read(folder, BundleLayout.poolingFile) {
                sheets.append(HuggingFaceReader.sentencePooling(text, source: BundleLayout.poolingFile))
            }
            if layout.environment, let text = read(folder, "environment.json") {
                sheets.append(RoboflowReader.environment(text))
            }
            if layout.metadata {
                if let text = read(folder, "metadata.yaml") { sheets.append(UltralyticsReader.yaml(text)) }
            } else {
                namesake(folder, name)
            }
            for file in layout.labelFiles {
                guard let text = read(folder, file, maximum: LabelFile.maximumBytes) else { continue }
                do throws(FormatError) {
                    labelFiles.append((file, try LabelFile.read(text, name: file)))
                } catch {
                    note(file, error.reason)
                }
            }
        }
        embedded(model, name)
        merge(input: nil)
    }

    /// The merged facts, given the size of the model's input.
    package func sheet(input: FactSize?) -> FactSheet {
        var copy = self
        copy.merge(input: input)
        return copy.sheet
    }

    private mutating func merge(input: FactSize?) {
        var all = sheets
        // After the processor's own file, and before the facts that exporters add.
        if let config { all.insert(TimmReader.config(config, input: input), at: min(2, all.count)) }
        sheet = .merged(all)
    }

    /// Reads the metadata that YOLOv5 writes under the model's own name: `yolov5s.yaml` next to `yolov5s.xml`. Other
    /// files with such a name are ignored.
    private mutating func namesake(_ folder: String, _ model: String) {
        let file = ModelBundle.servedName(of: model) + ".yaml"
        guard case .success(let data) = BundleFile.read(folder + "/" + file, maximum: Self.largestConfiguration) else {
            return
        }
        let sheet = UltralyticsReader.yaml([UInt8](data), source: file)
        if sheet.head != nil || sheet.task != nil { sheets.append(sheet) }
    }

    private mutating func embedded(_ path: String, _ name: String) {
        if ModelBundle.isSavedModel(path) {
            let file = "saved_model.pb"
            if let source = source(path + "/" + file, file) {
                sheets.append(TensorFlowReader.savedModel(source, name: file))
            }
            return
        }
        switch ModelFormat(file: path) {
        case .onnx:
            if let source = source(path, name) { sheets.append(ONNXReader.read(source, name: name)) }
        case .tflite:
            if let source = source(path, name) { sheets.append(TFLiteReader.read(source, name: name)) }
        case .tensorflow:
            if let source = source(path, name) { sheets.append(TensorFlowReader.frozenGraph(source, name: name)) }
        case .openvino:
            switch BundleFile.read(path, maximum: OpenVINOReader.maximumBytes) {
            case .success(let data): sheets.append(OpenVINOReader.read([UInt8](data), name: name))
            case .failure(let problem): note(name, problem.reason)
            }
        case .paddle, .coreml, nil: break
        }
    }

    private mutating func note(_ source: String, _ reason: String) {
        var sheet = FactSheet()
        sheet.problems.append(FactProblem(source: source, reason: reason))
        sheets.append(sheet)
    }

    private mutating func read(_ folder: String, _ file: String, maximum: Int = largestConfiguration) -> [UInt8]? {
        switch BundleFile.read(folder + "/" + file, maximum: maximum) {
        case .success(let data): return [UInt8](data)
        case .failure(let problem):
            note(file, problem.reason)
            return nil
        }
    }

    /// Opens a model file for reading in parts, because it may be larger than the memory.
    private mutating func source(_ path: String, _ name: String) -> ByteSource? {
        let file: OpenFile
        do throws(FileFailure) {
            file = try OpenFile(path)
        } catch {
            note(name, "cannot be read: \(error.reason)")
            return nil
        }
        return ByteSource(count: file.size) { file.bytes($0) }
    }
}
