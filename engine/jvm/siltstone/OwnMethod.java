package siltstone;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.VariableValue;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;

import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set;
import scala.runtime.AbstractFunction1;

/**
 * An expression that is its child, computed by a Java method of its own, which all that are equal call. Of all that an
 * operator of a stage does with a row Spark makes one method, HotSpot compiles none of more than 8000 bytes, and where a
 * stage would need one, each of its operators is a step by itself that copies all columns. Outside of stages Spark cuts the
 * code into methods by itself.
 */
public final class OwnMethod extends UnaryExpression implements Serializable {
  private static final int MOST_PARAMETERS = 254;
  private static final Map CALLS = new WeakHashMap(); // by context, what an operator of it calls

  private final Expression child;

  OwnMethod(Expression child) {
    this.child = child;
  }

  /** Makes it a function of a session, of one column. */
  public static void addTo(FunctionRegistry registry, String name) {
    registry.createOrReplaceTempFunction(name, new Maker(), "java_udf");
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    if (context.currentVars() == null) {
      return child.genCode(context);
    }
    Map calls = callsOf(context);
    Place place = new Place(child.canonicalized(), context.currentVars(), context.subExprEliminationExprs());
    Call call = (Call) calls.get(place);
    String before = "";
    if (call == null) {
      // Asked before the child's code is made, which would take along what its inputs have not computed yet.
      Tuple2 inputs =
          CodeGenerator$.MODULE$.getLocalInputVariableValues(context, child, context.subExprEliminationExprs());
      before = codeOf((Set) inputs._2());
      ExprCode made = child.genCode(context);
      call = Call.of(context, (Set) inputs._1(), made, dataType());
      if (call == null) {
        return new ExprCode(block(before + made.code()), made.isNull(), made.value());
      }
      calls.put(place, call);
    }
    String type = CodeGenerator$.MODULE$.javaType(dataType());
    String code =
        before + type + " " + result.value() + " = " + call.call + ";\n"
            + "boolean " + result.isNull() + " = " + call.isNull + ";\n";
    return new ExprCode(block(code), result.isNull(), result.value());
  }

  private static Map callsOf(CodegenContext context) {
    synchronized (CALLS) {
      Map calls = (Map) CALLS.get(context);
      if (calls == null) {
        calls = new HashMap();
        CALLS.put(context, calls);
      }
      return calls;
    }
  }

  private static String codeOf(Set inputs) {
    StringBuilder code = new StringBuilder();
    for (Iterator all = inputs.iterator(); all.hasNext(); ) {
      code.append(((ExprCode) all.next()).code()).append('\n');
    }
    return code.toString();
  }

  static CodeBlock block(String code) {
    return new CodeBlock(Nil$.MODULE$.$colon$colon(code), Nil$.MODULE$);
  }

  public TreeNode child() {
    return child;
  }

  public TreeNode withNewChildInternal(TreeNode other) {
    return new OwnMethod((Expression) other);
  }

  public DataType dataType() {
    return child.dataType();
  }

  public boolean nullable() {
    return child.nullable();
  }

  public Object eval(InternalRow row) {
    return child.eval(row);
  }

  public String prettyName() {
    return "own_method";
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int at) {
    if (at != 0) {
      throw new IndexOutOfBoundsException(String.valueOf(at));
    }
    return child;
  }

  public boolean canEqual(Object other) {
    return other instanceof OwnMethod;
  }

  public boolean equals(Object other) {
    return this == other || other instanceof OwnMethod && child.equals(((OwnMethod) other).child);
  }

  /** How the method is called, and where it says whether what it gave is null. */
  private static final class Call {
    final String call;
    final String isNull;

    private Call(String call, String isNull) {
      this.call = call;
      this.isNull = isNull;
    }

    /** A new method of what was made of variables; null where a method cannot have as many parameters. */
    static Call of(CodegenContext context, Set variables, ExprCode made, DataType kind) {
      StringBuilder parameters = new StringBuilder();
      StringBuilder arguments = new StringBuilder();
      int slots = 0;
      for (Iterator all = variables.iterator(); all.hasNext(); ) {
        VariableValue variable = (VariableValue) all.next();
        String type = CodeGenerator$.MODULE$.typeName(variable.javaType());
        String between = slots == 0 ? "" : ", ";
        parameters.append(between).append(type).append(' ').append(variable.variableName());
        arguments.append(between).append(variable.variableName());
        slots += type.equals("long") || type.equals("double") ? 2 : 1;
      }
      if (slots > MOST_PARAMETERS) {
        return null;
      }
      String isNull =
          context.addMutableState("boolean", "isNullOfOwn", context.addMutableState$default$3(), false, true);
      String name = context.freshName("own");
      String method =
          "private " + CodeGenerator$.MODULE$.javaType(kind) + " " + name + "(" + parameters + ") {\n"
              + made.code() + "\n"
              + isNull + " = " + made.isNull() + ";\n"
              + "return " + made.value() + ";\n}";
      return new Call(context.addNewFunction(name, method, false) + "(" + arguments + ")", isNull);
    }
  }

  /** An expression within an operator: there its inputs are in the same variables. */
  private static final class Place {
    private final Object expression;
    private final Object variables;
    private final Object found;

    Place(Object expression, Object variables, Object found) {
      this.expression = expression;
      this.variables = variables;
      this.found = found;
    }

    public boolean equals(Object other) {
      if (!(other instanceof Place)) {
        return false;
      }
      Place that = (Place) other;
      return variables == that.variables && found == that.found && expression.equals(that.expression);
    }

    public int hashCode() {
      return expression.hashCode();
    }
  }

  private static final class Maker extends AbstractFunction1 {
    public Object apply(Object columns) {
      return new OwnMethod((Expression) ((Seq) columns).head());
    }
  }
}
