internal import FileFormats
package import SystemSupport

/// The object that the command line names: a repository of the hub, or the address of one file.
package enum PullTarget: Sendable, Equatable {
    case repository(name: String, revision: String)
    case file(WebAddress)

    /// - Throws: a mistake in the command line.
    package init(_ text: String) throws(CommandError) {
        if text.contains("://") {
            self = .file(try Self.address(text))
            return
        }
        let at = text.firstIndex(of: "@")
        let name = at.map { String(text[..<$0]) } ?? text
        let revision = at.map { String(text[text.index(after: $0)...]) }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw Self.mistake(
                "\"\(name)\" is not the name of a repository: expected ORG/NAME, as in google/vit-base-patch16-224, or an https: address of a model file"
            )
        }
        for part in parts {
            if let problem = Self.problem(ofPart: part) {
                throw Self.mistake("\"\(name)\" is not the name of a repository: \"\(part)\" \(problem)")
            }
        }
        if let revision, let problem = Self.problem(ofRevision: revision) {
            throw Self.mistake("\"\(revision)\" is not the name of a revision: it \(problem)")
        }
        self = .repository(name: name, revision: revision ?? "main")
    }

    /// The name of the folder unless another is asked for.
    /// - Throws: a mistake in the command line.
    package func folderName(as other: String?) throws(CommandError) -> String {
        if let other {
            if let problem = Self.problem(ofFolder: other) {
                throw Self.mistake("--as: \"\(other)\" \(problem): expected the name of a folder")
            }
            return other
        }
        let name: String
        switch self {
        case .repository(let repository, _): name = HubPath.name(of: repository)
        case .file: name = Self.stem(of: fileName)
        }
        if let problem = Self.problem(ofFolder: name) {
            throw Self.mistake("the folder's name would be \"\(name)\", which \(problem): choose another with --as")
        }
        return name
    }

    /// The name of the file that an address ends with; empty for a repository.
    package var fileName: String {
        guard case .file(let address) = self else { return "" }
        return PercentEncoding.decode(HubPath.name(of: address.path)) ?? ""
    }

    static func stem(of file: String) -> String {
        let endings = ModelFormat.allCases.flatMap(\.fileEndings)
        return endings.first { file.hasEnding($0) }.map { String(file.dropLast($0.count)) } ?? file
    }

    private static func mistake(_ text: String) -> CommandError { CommandError(text, isConfiguration: true) }

    private static func address(_ text: String) throws(CommandError) -> WebAddress {
        guard let address = WebAddress(text) else {
            throw mistake("this is not an address that can be pulled: expected https://HOST/PATH of a model file")
        }
        guard address.scheme == "https" else {
            throw mistake("\(address.shown) is not pulled over http: expected an https: address")
        }
        let name = PullTarget.file(address).fileName
        guard let format = ModelFormat(file: name), HubPath.problem(name) == nil, !name.contains("/") else {
            throw mistake(
                "\(address.shown) does not end with the name of a model file (.onnx, .tflite, .mlmodel, .pb); a repository is named ORG/NAME"
            )
        }
        switch format {
        case .openvino, .paddle:
            throw mistake("\(address.shown) is one file of two, and holds no weights: name the repository, ORG/NAME")
        case .onnx, .tflite, .tensorflow, .coreml: return address
        }
    }

    /// The hub's rule for the two parts of a repository's name.
    private static func problem(ofPart part: Substring) -> String? {
        if part.isEmpty { return "is empty" }
        if part.utf8.count > 96 { return "has more than 96 characters" }
        guard part.utf8.allSatisfy({ isNameByte($0) }) else {
            return "has other characters than letters, digits, \"-\", \"_\" and \".\""
        }
        if part.hasPrefix(".") || part.hasPrefix("-") { return "begins with \"\(part.prefix(1))\"" }
        if part.hasSuffix(".") || part.hasSuffix("-") { return "ends with \"\(part.suffix(1))\"" }
        if part.contains("..") || part.contains("--") { return "has \"..\" or \"--\"" }
        return nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Git's rules for names of branches and tags (git-check-ref-format(1)), as far as they matter here.
    private static func problem(ofRevision revision: String) -> String? {
        if revision.isEmpty { return "is empty" }
        if revision.utf8.count > 255 { return "has more than 255 bytes" }
        if revision.unicodeScalars.contains(where: {
            $0.value <= 0x20 || $0.value == 0x7F || "~^:?*[\\".unicodeScalars.contains($0)
        }) {
            return "has a blank, a control character or one of ~^:?*[\\"
        }
        if revision.contains("..") || revision.contains("//") || revision.contains("@{") {
            return "has \"..\", \"//\" or \"@{\""
        }
        if revision.hasPrefix("/") || revision.hasPrefix("-") || revision.hasPrefix(".") || revision.hasSuffix("/")
            || revision.hasSuffix(".")
        {
            return "begins or ends with a character that names of revisions do not have there"
        }
        return nil
    }

    private static func problem(ofFolder name: String) -> String? {
        if name.contains("/") { return "has a slash" }
        if let problem = HubPath.problem(name) { return problem }
        if name.hasPrefix(".") || name.hasPrefix("_") || name == "lost+found" {
            return "is a name that `ocelli serve` ignores"
        }
        if name.utf8.count > 200 { return "has more than 200 bytes" }
        if ModelFormat.folderEndings.contains(where: { name.hasEnding($0) }) {
            return "is the name of a Core ML package"
        }
        return nil
    }
}
