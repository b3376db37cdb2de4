public import Foundation

/// A model that returns its inputs, as OpenVINO IR, which is text: one for each element type.
public enum IdentityModel {
    /// Writes `NAME.xml` into a folder: a tensor "x" of rows.
    /// - Parameters:
    ///   - type: OpenVINO's name: `f32`, `i64`, `boolean`.
    ///   - batch: the number of rows, or -1 for any number.
    ///   - columns: the elements of a row.
    public static func write(
        _ type: String, named name: String, batch: Int = -1, columns: Int = 3, into folder: URL
    ) throws {
        try write(type, named: name, shape: [batch, columns], into: folder)
    }

    /// Writes a model with a tensor "x" of any rank; -1 is an open axis.
    public static func write(_ type: String, named name: String, shape: [Int], into folder: URL) throws {
        try write(type, named: name, tensors: [("x", shape)], into: folder)
    }

    /// Writes a model of several tensors, by name; each is returned unchanged.
    public static func write(
        _ type: String, named name: String, tensors: [(name: String, shape: [Int])], into folder: URL
    ) throws {
        let names = ["boolean": "BOOL", "f16": "FP16", "f32": "FP32", "f64": "FP64"]
        let precision = names[type] ?? type.uppercased()
        var layers = "", edges = ""
        for (index, tensor) in tensors.enumerated() {
            let dimensions = tensor.shape.map { "<dim>\($0)</dim>" }.joined()
            let port = "<port id=\"0\" precision=\"\(precision)\" names=\"\(tensor.name)\">\(dimensions)</port>"
            let shape = tensor.shape.map { $0 == -1 ? "?" : String($0) }.joined(separator: ",")
            let result = tensors.count + index
            layers += """
                <layer id="\(index)" name="\(tensor.name)" type="Parameter" version="opset1">
                  <data shape="\(shape)" element_type="\(type)"/><output>\(port)</output>
                </layer>
                <layer id="\(result)" name="y\(index)" type="Result" version="opset1"><input>\(port)</input></layer>

                """
            edges += "<edge from-layer=\"\(index)\" from-port=\"0\" to-layer=\"\(result)\" to-port=\"0\"/>"
        }
        let text = """
            <?xml version="1.0"?>
            <net name="\(name)" version="11"><layers>\(layers)</layers><edges>\(edges)</edges></net>

            """
        try Data(text.utf8).write(to: folder.appendingPathComponent(name + ".xml"))
    }
}
