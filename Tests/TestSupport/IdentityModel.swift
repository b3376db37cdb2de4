public import Foundation

/// A model that gives what it takes, as OpenVINO IR, which is text: one for each type of elements.
public enum IdentityModel {
    /// Writes `NAME.xml` into a folder: a tensor "x" of rows.
    /// - Parameters:
    ///   - type: OpenVINO's name: `f32`, `i64`, `boolean`.
    ///   - batch: the rows, or -1 for any number.
    ///   - columns: the elements of a row.
    public static func write(
        _ type: String, named name: String, batch: Int = -1, columns: Int = 3, into folder: URL
    ) throws {
        try write(type, named: name, shape: [batch, columns], into: folder)
    }

    /// The same with a shape of any rank; -1 for an open axis.
    public static func write(_ type: String, named name: String, shape: [Int], into folder: URL) throws {
        let names = ["boolean": "BOOL", "f16": "FP16", "f32": "FP32", "f64": "FP64"]
        let precision = names[type] ?? type.uppercased()
        let port =
            "<port id=\"0\" precision=\"\(precision)\" names=\"x\">"
            + shape.map { "<dim>\($0)</dim>" }.joined() + "</port>"
        let text = """
            <?xml version="1.0"?>
            <net name="\(name)" version="11">
              <layers>
                <layer id="0" name="x" type="Parameter" version="opset1">
                  <data shape="\(shape.map { $0 == -1 ? "?" : String($0) }.joined(separator: ","))" element_type="\(type)"/>
                  <output>\(port)</output>
                </layer>
                <layer id="1" name="y" type="Result" version="opset1"><input>\(port)</input></layer>
              </layers>
              <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
            </net>

            """
        try Data(text.utf8).write(to: folder.appendingPathComponent(name + ".xml"))
    }
}
