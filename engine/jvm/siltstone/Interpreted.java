package siltstone;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;

import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * An expression that Spark neither plans nor generates code for: it sees the columns that this one takes, and no more.
 *
 * Every rule of the optimizer goes through every expression of a plan, and the code of a projection is made of all that is
 * in it; of what few rows need, that takes longer than those rows do. The expression inside is the analyzed one, over the
 * values of the columns, and is evaluated as it stands, where somebody asks for the value.
 */
public final class Interpreted extends Expression implements Serializable {
  private final Seq columns;
  private final Expression told; // of the columns' values, by their numbers

  private Interpreted(Seq columns, Expression told) {
    this.columns = columns;
    this.told = told;
  }

  /** The only column of a projection, as one that is interpreted. `plan`: analyzed. */
  public static Column of(LogicalPlan plan) {
    Expression one = (Expression) ((Project) plan).projectList().head();
    Seq columns = one.references().toSeq();
    return ExpressionUtils.column(new Interpreted(columns, bound(one, columns, new HashMap())));
  }

  /** What Spark's planner would make of an expression, as far as evaluating needs it. `common`: by their ids. */
  private static Expression bound(Expression one, Seq columns, Map common) {
    if (one instanceof Alias) {
      return bound(((Alias) one).child(), columns, common);
    }
    if (one instanceof RuntimeReplaceable) {
      return bound(((RuntimeReplaceable) one).replacement(), columns, common);
    }
    if (one instanceof With) {
      Seq shared = ((With) one).defs();
      for (int i = 0; i < shared.length(); i++) {
        CommonExpressionDef found = (CommonExpressionDef) shared.apply(i);
        common.put(found.id(), bound((Expression) found.child(), columns, common));
      }
      return bound(((With) one).child(), columns, common);
    }
    if (one instanceof CommonExpressionRef) {
      return (Expression) common.get(((CommonExpressionRef) one).id());
    }
    if (one instanceof AttributeReference) {
      for (int i = 0; i < columns.length(); i++) {
        if (((AttributeReference) columns.apply(i)).exprId().equals(((AttributeReference) one).exprId())) {
          return new BoundReference(i, one.dataType(), one.nullable());
        }
      }
    }
    if (one instanceof Unevaluable) {
      throw new IllegalArgumentException("cannot be interpreted: " + one.prettyName());
    }
    Seq children = one.children();
    if (children.isEmpty()) {
      return folded(one);
    }
    ArrayBuffer parts = new ArrayBuffer();
    for (int i = 0; i < children.length(); i++) {
      parts.addOne(bound((Expression) children.apply(i), columns, common));
    }
    return folded((Expression) one.withNewChildren(parts.toIndexedSeq()));
  }

  /** The value of what is the same for all rows; an expression that fails does so for the rows that ask for it. */
  private static Expression folded(Expression one) {
    if (one instanceof Literal || !one.foldable() || one.dataType() instanceof ObjectType) {
      return one;
    }
    try {
      return new Literal(one.eval(null), one.dataType());
    } catch (RuntimeException failed) {
      return one;
    }
  }

  /** The value of a row's columns. */
  public Object valueOf(Object[] values) {
    return told.eval(new GenericInternalRow(values));
  }

  public Object eval(InternalRow row) {
    Object[] values = new Object[columns.length()];
    for (int i = 0; i < values.length; i++) {
      values[i] = ((Expression) columns.apply(i)).eval(row);
    }
    return valueOf(values);
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    String self = context.addReferenceObj("interpreted", this, Interpreted.class.getName());
    String values = context.freshName("values");
    StringBuilder code = new StringBuilder("Object[] " + values + " = new Object[" + columns.length() + "];\n");
    for (int i = 0; i < columns.length(); i++) {
      ExprCode column = ((Expression) columns.apply(i)).genCode(context);
      code.append(column.code()).append("\nif (!").append(column.isNull()).append(") {\n");
      code.append(values).append('[').append(i).append("] = ").append(column.value()).append(";\n}\n");
    }
    String type = CodeGenerator$.MODULE$.javaType(dataType());
    String boxed = CodeGenerator$.MODULE$.boxedType(dataType());
    String none = CodeGenerator$.MODULE$.defaultValue(dataType(), false);
    String value = context.freshName("interpreted");
    code.append("Object ").append(value).append(" = ").append(self).append(".valueOf(").append(values).append(");\n");
    code.append("boolean ").append(result.isNull()).append(" = ").append(value).append(" == null;\n");
    code.append(type).append(' ').append(result.value()).append(" = ").append(none).append(";\n");
    code.append("if (!").append(result.isNull()).append(") {\n");
    code.append(result.value()).append(" = (").append(boxed).append(") ").append(value).append(";\n}\n");
    return new ExprCode(OwnMethod.block(code.toString()), result.isNull(), result.value());
  }

  public Seq children() {
    return columns;
  }

  public TreeNode withNewChildrenInternal(IndexedSeq others) {
    return new Interpreted(others, told);
  }

  public DataType dataType() {
    return told.dataType();
  }

  public boolean nullable() {
    return true;
  }

  public String prettyName() {
    return "interpreted";
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int at) {
    if (at != 0) {
      throw new IndexOutOfBoundsException(String.valueOf(at));
    }
    return columns;
  }

  public boolean canEqual(Object other) {
    return other instanceof Interpreted;
  }

  public boolean equals(Object other) {
    if (this == other) {
      return true;
    }
    return other instanceof Interpreted
        && columns.equals(((Interpreted) other).columns)
        && told.equals(((Interpreted) other).told);
  }
}
