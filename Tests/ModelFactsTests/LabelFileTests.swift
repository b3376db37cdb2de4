import FileFormats
import ModelFacts
import Testing

@Suite struct LabelFileTests {
    private func labels(_ text: String, _ name: String) throws -> [String] {
        try LabelFile.read(Array(text.utf8), name: name)
    }

    @Test("label files as text, CSV and JSON are read, and ambiguous or empty files are refused")
    func forms() throws {
        #expect(try labels("cat\r\ndog\r\n\r\n", "labels.txt") == ["cat", "dog"])
        #expect(try labels("\u{FEFF}cat\ndog", "labels.txt") == ["cat", "dog"])
        #expect(
            try labels("n01440764 tench, Tinca tinca\nn01443537 goldfish\n", "synset_words.txt") == [
                "tench, Tinca tinca", "goldfish",
            ])
        #expect(try labels("0 cat\n1 dog\n", "labels.txt") == ["cat", "dog"])
        #expect(try labels("0: cat\n1: dog\n", "labels.txt") == ["cat", "dog"])
        #expect(try labels("1 cat\n3 dogs\n", "labels.txt") == ["1 cat", "3 dogs"])
        #expect(
            try labels(#"{"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]}"#, "imagenet_class_index.json")
                == ["tench", "goldfish"])
        #expect(try labels(#"["a", "b"]"#, "labels.json") == ["a", "b"])
        #expect(try labels("id,name\n1,dog\n0,\"cat, big\"\n", "classes.csv") == ["cat, big", "dog"])
        #expect(try labels("cat\ndog\n", "labels.csv") == ["cat", "dog"])
        #expect(throws: FormatError.self) { try labels("a,b\nc\n", "labels.csv") }
        let twoNames = #expect(throws: FormatError.self) { try labels("a,b\nc,d\n", "labels.csv") }
        #expect(twoNames?.reason.contains("no column with the numbers 0 to 1") == true)
        #expect(throws: FormatError.self) { try LabelFile.read([0xFF, 0xFE, 0x41], name: "labels.txt") }
        #expect(throws: FormatError.self) { try labels("\n\n", "labels.txt") }
    }

    /// Forms that differ in the place of the numbers, and in the separator.
    @Test(
        "class numbers next to the names in a label file set their order and are removed",
        arguments: [
            ("0:cat\n1:dog, hot\n", "labels.txt"), ("0,cat\n1,dog, hot\n", "labels.txt"),
            ("0 - cat\n1 - dog, hot\n", "labels.txt"), ("0. cat\n1. dog, hot\n", "labels.txt"),
            ("1) cat\n2) dog, hot\n", "labels.txt"), ("cat 0\ndog, hot 1\n", "categories_places365.txt"),
            ("cat: 1\ndog, hot: 2\n", "labels.txt"), ("n00000001 cat\nn00000002 dog, hot\n", "synset_words.txt"),
            ("n00000001,cat\nn00000002,dog, hot\n", "LOC_synset_mapping.txt"),
            ("label\ncat\n\"dog, hot\"\n", "labels.csv"),
            ("wnid,name\nn00000001,cat\nn00000002,\"dog, hot\"\n", "classes.csv"),
            ("index,mid,display_name\n1,/m/1,\"dog, hot\"\n0,/m/0,cat\n", "class_map.csv"),
            ("1,cat\n2,\"dog, hot\"\n", "labels.csv"), ("id;name\r\n0;cat\r\n1;dog, hot\r\n", "labels.csv"),
            ("0\tcat\n1\tdog, hot\n", "labels.tsv"),
            ("{0: 'cat',\n 1: 'dog, hot'}", "imagenet1000_clsidx_to_labels.txt"),
            (#"{"cat": 0, "dog, hot": 1}"#, "class_indices.json"), (#"{"cat": "0", "dog, hot": "1"}"#, "label2id.json"),
            (#"[{"id": 2, "name": "dog, hot"}, {"id": 1, "name": "cat"}]"#, "categories.json"),
            (#"{"categories": [{"name": "cat"}, {"name": "dog, hot"}]}"#, "classes.json"),
            ("\u{FEFF}" + #"{"1": "dog, hot", "0": "cat"}"#, "id2label.json"),
            ("\u{FEFF}0 cat\r1 dog, hot\r\r\r", "labels.txt"),
        ])
    func numbersBesideTheNames(_ text: String, _ name: String) throws {
        #expect(try labels(text, name) == ["cat", "dog, hot"])
        #expect(LabelFile.isUsual(name))
    }

    /// Each names classes 0, 1, 3 and 4: lines in any order, without class 2.
    @Test(
        "labels with numbers keep their numbers where one is missing, in any order",
        arguments: [
            ("0  person\n1  bicycle\n3  car\n4  motorcycle\n", "labelmap.txt"),
            ("4: motorcycle\n3: car\n\n1: bicycle\n0: person\n", "labels.txt"),
            ("1\tbicycle\r\n0\tperson\r\n4\tmotorcycle\r\n3\tcar\r\n", "labels.txt"),
            ("car 3\nperson 0\nbicycle 1\nmotorcycle 4", "labels.txt"),
            ("id,name\n3,car\n0,person\n1,bicycle\n4,motorcycle\n", "labels.csv"),
            ("0,person\n1,bicycle\n3,car\n4,motorcycle\n", "labels.csv"),
            ("3;car\n0;person\n1;bicycle\n4;motorcycle\n", "labels.csv"),
            ("4\tmotorcycle\n0\tperson\n1\tbicycle\n3\tcar\n", "labels.tsv"),
            (#"{"0": "person", "3": "car", "1": "bicycle", "4": "motorcycle"}"#, "labels.json"),
            (#"{"person": 0, "bicycle": 1, "car": 3, "motorcycle": 4}"#, "class_indices.json"),
            (
                #"[{"id": 4, "name": "motorcycle"}, {"id": 0, "name": "person"}, {"id": 1, "name": "bicycle"}, {"id": 3, "name": "car"}]"#,
                "categories.json"
            ),
            ("{0: 'person', 1: 'bicycle',\n 3: 'car', 4: 'motorcycle'}", "labels.txt"),
        ])
    func missingNumbers(_ text: String, _ name: String) throws {
        #expect(try labels(text, name) == ["person", "bicycle", "2", "car", "motorcycle"])
    }

    @Test("labels with every number from 1 on name the classes from 0 on, in any order")
    func numbersFromOne() throws {
        #expect(try labels("2 dog\n1 cat\n3 cow\n", "labels.txt") == ["cat", "dog", "cow"])
        #expect(try labels("0 face\n", "labels.txt") == ["face"])
        #expect(try labels("Terminal 1\n", "labels.txt") == ["Terminal 1"])
    }

    @Test(
        "numbers that cannot be those of classes are refused with the reason",
        arguments: [
            (#"{"1": "cat", "3": "dog"}"#, "labels.json", "names class 1, but not class 0"),
            (#"{"0": "cat", "900000000000": "dog"}"#, "labels.json", "names class 900000000000"),
            (#"{"cat": 0, "dog": 0}"#, "labels.json", "names class 0 twice"),
            (#"[{"id": 0, "name": "cat"}, {"name": "dog"}]"#, "labels.json", "has numbers for 1 of its 2 names"),
            // A long list that skips few numbers and begins at 1: its class 0 may be line 1, or may have no name.
            (
                (1...12).filter { $0 != 7 }.map { "\($0) thing \($0 * 3)" }.joined(separator: "\n"), "labels.txt",
                "names class 1, but not class 0: expected numbers from 0 on, or every number from 1 on"
            ),
        ])
    func impossibleNumbers(_ text: String, _ name: String, _ reason: String) throws {
        let error = #expect(throws: FormatError.self) { try labels(text, name) }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test(
        "a written label file is read as the same names",
        arguments: [
            ["cat", "dog, hot"], ["0 calories", "1 calorie"], ["3D"], ["a\nb", "c"], ["", "b", ""], ["n01440764 x"],
            [" a ", "b"], ["{x", "y}"],
        ])
    func writtenAndRead(_ names: [String]) throws {
        let (ending, bytes) = LabelFile.written(names)
        #expect(try LabelFile.read(bytes, name: "labels" + ending) == names)
    }

    /// Numbers that belong to the names stay.
    @Test(
        "numbers that are part of class names stay in the labels",
        arguments: [
            "class 0\nclass 1", "0.5 litres\n1.5 litres", "2 cats\n3 dogs", "0-60 mph\n1-60 mph", "3D\n4D",
            "cat 1\ndog 3",
        ])
    func numbersInTheNames(_ text: String) throws {
        #expect(try labels(text, "labels.txt") == text.split(separator: "\n").map(String.init))
    }

    @Test(
        "the usual names of label files are recognized",
        arguments: [
            "labels_mobilenet_quant_v1_224.txt", "ImageNetLabels.txt", "mobilenet_v1_1.0_224_labels.txt", "coco.names",
            "imagenet1k_label_list.txt", "imagenet_classes.txt", "my-classes.json", "index_to_name.json",
        ])
    func usualNames(_ name: String) { #expect(LabelFile.isUsual(name)) }

    @Test(
        "other files are not taken for label files by their names",
        arguments: ["README.txt", "requirements.txt", "model.json", "relabels.txt", "vocab.txt", "labels.npy"])
    func otherNames(_ name: String) { #expect(!LabelFile.isUsual(name)) }

    /// From torchvision's list: the first one, two with the same name, and the last one.
    @Test("the built-in ImageNet labels are torchvision's, and the list of 1,001 begins with background")
    func imageNet() throws {
        let labels = try #require(ImageNetLabels.named("imagenet-1k"))
        #expect(
            labels.count == 1000 && labels[0] == "tench" && labels[282] == "tiger cat" && labels[999] == "toilet tissue"
        )
        #expect(ImageNetLabels.named("imagenet-1001")?.prefix(2) == ["background", "tench"])
        #expect(ImageNetLabels.named("imagenet-21k") == nil)
    }
}
